// A function without a body, as systemstack_test.go has one, needs an assembly file in its package.
