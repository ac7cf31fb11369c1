package record

import (
	"debug/elf"
	"debug/gosym"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// Symbols returns a function that names functions of a trace, from the file of the traced program.
// It returns nil if the trace does not say where that file is.
func Symbols(t *tracefile.Trace) func(off uint32) string {
	if exe := t.Exe(); exe != "" {
		return symbols(exe)
	}
	return nil
}

// symbols returns a function that names the function at an offset in a program's text, from the
// table that every Go program carries for its stack traces. The table counts from the beginning of
// the text as the trace does, so it does not matter where the program was loaded.
func symbols(program string) func(off uint32) string {
	none := func(uint32) string { return "" }
	f, err := elf.Open(program)
	if err != nil {
		return none
	}
	defer f.Close()
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		s := f.Section(name)
		if s == nil {
			continue
		}
		data, err := s.Data()
		if err != nil {
			continue
		}
		tab, err := gosym.NewTable(nil, gosym.NewLineTable(data, 0))
		if err != nil {
			continue
		}
		return func(off uint32) string {
			if fn := tab.PCToFunc(uint64(off)); fn != nil {
				return fn.Name
			}
			return ""
		}
	}
	return none
}
