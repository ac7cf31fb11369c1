package ftrace

import "github.com/ftgo/ftgo/internal/hook"

// This file holds the sets of functions that filters, limits and triggers make of patterns.

// A funcSet is a set of functions by their numbers: what patterns match. It also holds sets of
// other small numbers, of Ps for example.
type funcSet struct{ bits []uint32 }

// has reports whether a number is in the set. A nil set is empty.
func (s *funcSet) has(id uint32) bool {
	return s != nil && id/32 < uint32(len(s.bits)) && s.bits[id/32]>>(id%32)&1 != 0
}

// add adds the functions of a package that the patterns match.
func (s *funcSet) add(t *hook.Table, l patterns) {
	l.each(t, s.insert)
}

// list returns the numbers in the set, in order.
func (s *funcSet) list() (list []int) {
	if s == nil {
		return nil
	}
	for id := range 32 * len(s.bits) {
		if s.has(uint32(id)) {
			list = append(list, id)
		}
	}
	return list
}

// insert adds a number.
func (s *funcSet) insert(id uint32) {
	for uint32(len(s.bits)) <= id/32 {
		s.bits = append(s.bits, 0)
	}
	s.bits[id/32] |= 1 << (id % 32)
}

// setOf returns the functions that patterns match; nil if there are no patterns.
func setOf(l patterns) *funcSet {
	if len(l) == 0 {
		return nil
	}
	s := new(funcSet)
	eachTable(func(t *hook.Table) { s.add(t, l) })
	return s
}
