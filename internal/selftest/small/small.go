// Package small has a function that the compiler inlines, with its hook if it has one.
package small

// A Box holds a number.
type Box struct{ N int8 }

// Minus returns its opposite. It has a pointer, so its wrapper is its own.
func (b *Box) Minus() int8 { return -b.N }
