package runtime

import (
	"internal/abi"
	"internal/bytealg"
	"unsafe"
)

// This file is added to package runtime beside _runtime.go. It keeps the frames that hooks add out
// of stack traces, out of profiles, and out of the count of frames by which gorecover tells who may
// recover. Patches where the package looks at frames call ftgo_funcID, ftgo_callee, ftgo_calleeOf,
// ftgo_elide and ftgo_recoverID. fpTracebackPartialExpand is renamed to
// std_fpTracebackPartialExpand.

// ftgo_wrapper is the FuncID of wrappers. ftgo_hidden is the FuncID of wrappers that their
// functions call from within a function literal. No function has them in the tables; ftgo_funcID
// makes them.
const (
	ftgo_wrapper abi.FuncID = 0xf7
	ftgo_hidden  abi.FuncID = 0xf8
)

// ftgo_funcID returns f.funcID, or a FuncID of ftgo's for a function with a name that bears the
// mark. Every wrapper defers, and few other functions do, so it seldom looks at a name.
func ftgo_funcID(f funcInfo) abi.FuncID {
	if f.funcID == abi.FuncIDNormal && f.deferreturn != 0 {
		return ftgo_marked(funcname(f))
	}
	return f.funcID
}

// ftgo_marked returns the FuncID that the last element of a symbol name asks for: ftgo_wrapper for
// ftgo_…, ftgo_hidden for ftgo_0…, otherwise FuncIDNormal. The name of a generic function's wrapper
// ends in type arguments, which may hold dots. They do not count.
func ftgo_marked(name string) abi.FuncID {
	if i := bytealg.IndexByteString(name, '['); i >= 0 {
		if len(name) > 0 && name[len(name)-1] == ']' {
			for j := i; j+2+len(ftgo_Prefix) < len(name); j++ { // pkg.(*T[...]).ftgo_M[...]
				if s := name[j : j+2]; (s == ")." || s == "].") && name[j+2:j+2+len(ftgo_Prefix)] == ftgo_Prefix {
					return ftgo_wrapper
				}
			}
			name = name[:i]
		} else { // pkg.(*T[...]).ftgo_M
			for i = len(name) - 1; name[i] != ']'; i-- {
			}
			name = name[i:]
		}
	}
	i := len(name) - 1
	for i >= 0 && name[i] != '.' {
		i--
	}
	name = name[i+1:]
	switch {
	case len(name) <= len(ftgo_Prefix) || name[:len(ftgo_Prefix)] != ftgo_Prefix:
		return abi.FuncIDNormal
	case len(name) >= len(ftgo_HiddenPrefix) && name[:len(ftgo_HiddenPrefix)] == ftgo_HiddenPrefix:
		return ftgo_hidden
	}
	return ftgo_wrapper
}

// ftgo_elide reports whether a frame with the FuncID id, which called a frame with the FuncID
// callee, stays out of stack traces. That holds for wrappers, and for functions that called their
// wrapper: such a function appears once more, as the body that the wrapper called.
func ftgo_elide(id, callee abi.FuncID) bool {
	return id == ftgo_wrapper || callee == ftgo_wrapper || id == ftgo_hidden || callee == ftgo_hidden ||
		id == abi.FuncIDWrapper && elideWrapperCalling(callee)
}

// ftgo_callee returns the FuncID that the caller of a frame sees, for a frame with the FuncID id
// that called last. A literal that called a hidden wrapper is a wrapper to the function around it.
func ftgo_callee(id, last abi.FuncID) abi.FuncID {
	if last == ftgo_hidden {
		return ftgo_wrapper
	}
	return id
}

// ftgo_calleeOf is ftgo_callee where the unwinder leaves a function for the next one. It may be
// called for a frame that ftgo_callee was called for already.
func ftgo_calleeOf(f funcInfo, last abi.FuncID) abi.FuncID {
	id := ftgo_funcID(f)
	if id == abi.FuncIDNormal && last == ftgo_wrapper {
		return last
	}
	return id
}

// ftgo_recoverID returns the FuncID that gorecover's count of frames sees: FuncIDWrapper for the
// frames that ftgo adds.
func ftgo_recoverID(id abi.FuncID, callee *abi.FuncID) abi.FuncID {
	last := *callee
	*callee = ftgo_callee(id, last)
	if ftgo_elide(id, last) && id != abi.FuncIDWrapper {
		return abi.FuncIDWrapper
	}
	return id
}

// fpTracebackPartialExpand leaves ftgo's frames out of the stacks of block and mutex profiles. What
// it returns is not looked through for wrappers again.
func fpTracebackPartialExpand(skip int, fp unsafe.Pointer, pcBuf []uintptr) int {
	pcs := pcBuf[:std_fpTracebackPartialExpand(skip, fp, pcBuf)]
	n := 0
	callee := abi.FuncIDNormal
	for _, pc := range pcs {
		if fi := findfunc(pc - 1); fi.valid() {
			u, uf := newInlineUnwinder(fi, pc-1)
			for uf.valid() {
				id := u.srcFunc(uf).funcID
				if id == abi.FuncIDWrapper || !ftgo_elide(id, callee) {
					break
				}
				callee = ftgo_callee(id, callee)
				uf = u.next(uf)
			}
			if !uf.valid() {
				continue
			}
			pc = uf.pc + 1
			for ; uf.valid(); uf = u.next(uf) {
				callee = ftgo_callee(u.srcFunc(uf).funcID, callee)
			}
		}
		pcs[n] = pc
		n++
	}
	return n
}
