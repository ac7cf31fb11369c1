package main

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
)

type T struct{ _ int }

//go:noinline
func (t *T) where() string { _, f, l, _ := runtime.Caller(1); return fmt.Sprint(f[len(f)-7:], ":", l) }

func (T) blank(_ int, _ string) string           { return deeper(3) }
func (t *T) unnamed(int, string) (string, error) { s := t.where(); return s, errors.New("x") }

func deeper(n int) string {
	if n > 0 {
		return deeper(n - 1)
	}
	var pcs [20]uintptr
	k := runtime.Callers(0, pcs[:])
	fr := runtime.CallersFrames(pcs[:k])
	s := ""
	for {
		f, more := fr.Next()
		s += fmt.Sprintf("%s:%d ", f.Function, f.Line)
		if !more {
			break
		}
	}
	return s
}

func Map[A, B any](in []A, f func(A) B) (out []B) {
	for _, a := range in {
		out = append(out, f(a))
	}
	s := deeper(0)
	fmt.Println("map", s)
	return
}

type List[E any, _ any] struct{ e []E }

func (l *List[E, _]) Push(e E) { l.e = append(l.e, e); fmt.Println(deeper(1)) }

func logit(l *log.Logger) { l.Output(2, "hello"); l.Output(1, "inner") }
func viaHelper() string {
	var b bytes.Buffer
	logit(log.New(&b, "", log.Lshortfile))
	return b.String()
}

func rescue() {
	if r := recover(); r != nil {
		fmt.Println("rescued", r)
		fmt.Println(norm(string(debug.Stack())))
	}
}
func notRescue() { func() { recover() }(); helperRecover() }
func helperRecover() {
	if recover() != nil {
		fmt.Println("WRONG")
	}
}

func boom(n int) {
	if n == 0 {
		panic("boom")
	}
	boom(n - 1)
}
func guarded() { defer rescue(); boom(2) }
func guarded2() (s string) {
	defer func() {
		if r := recover(); r != nil {
			s = fmt.Sprint("outer ", r)
		}
	}()
	defer notRescue()
	boom(1)
	return "no"
}

var hexre = regexp.MustCompile(`0x[0-9a-f]+|\?|goroutine \d+`)

func norm(s string) string { return hexre.ReplaceAllString(s, "H") }

func rec(n int) int {
	if n == 0 {
		return 0
	}
	return 1 + rec(n-1)
}
func main() {
	t := &T{}
	fmt.Println(t.where())
	fmt.Println(T{}.blank(1, "a"))
	fmt.Println(t.unnamed(1, "b"))
	Map([]int{1}, func(i int) string { return deeper(i) })
	l := &List[int, string]{}
	l.Push(3)
	fmt.Print(viaHelper())
	guarded()
	fmt.Println(guarded2())
	fmt.Println(rec(100))
	fmt.Println(norm(string(debug.Stack())))
	if len(os.Args) > 1 {
		boom(3)
	}
}
