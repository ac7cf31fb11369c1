#include "textflag.h"

// A jump, so that the runtime's function finds its argument where it is. The linker refuses a linkname.
TEXT ·systemstack(SB), NOSPLIT, $0
	JMP runtime·systemstack(SB)
