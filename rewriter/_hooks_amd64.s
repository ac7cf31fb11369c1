
// These are the hooks, where nothing has to be made first. The text is appended to an assembly file
// of package runtime. The hooks record as functionEnter, graphEnter and graphExit of the library do
// (runtime/enter.go), or count as profileEnter and profileExit do (runtime/profile.go). They fall
// back on the library's functions. Nothing here is a safe point: a goroutine in a hook stays on its
// P, and a barrier on all Ps waits for it. Offsets and numbers come from internal/hook, by way of
// go_asm.h.

// ftgo_now reads the counter.
#define ftgo_now \
	RDTSC; \
	SHLQ	$32, DX; \
	ORQ	DX, AX

// func ftgo_ticks() uint64
TEXT runtime·ftgo_ticks<ABIInternal>(SB),NOSPLIT,$0-0
	ftgo_now
	RET

// ftgo_invariant asks CPUID whether the counter runs at a constant rate in all states of the
// processor (Intel SDM, volume 3, 17.17.1).
//
// func ftgo_invariant() bool
TEXT runtime·ftgo_invariant<ABIInternal>(SB),NOSPLIT,$0-0
	MOVL	$0x80000000, AX
	CPUID
	CMPL	AX, $0x80000007
	JCS	no
	MOVL	$0x80000007, AX
	CPUID
	SHRL	$8, DX
	ANDL	$1, DX
	MOVL	DX, AX
	RET
no:
	XORL	AX, AX
	RET

// ftgo_state loads the state of the goroutine into BX, the state of its P into CX, and the address
// of the next record into SI. It jumps to else if a state is missing, if the next record on the P
// is not to be the goroutine's, or if the page is full.
#define ftgo_state(else) \
	MOVQ	g_ftgo(R14), BX; \
	TESTQ	BX, BX; \
	JEQ	else; \
	MOVQ	g_m(R14), CX; \
	MOVQ	m_p(CX), CX; \
	MOVQ	p_ftgo(CX), CX; \
	TESTQ	CX, CX; \
	JEQ	else; \
	MOVQ	ftgo_Goroutine_Turn(BX), DX; \
	CMPQ	DX, ftgo_Processor_Turn(CX); \
	JNE	else; \
	MOVQ	ftgo_Processor_At(CX), SI; \
	CMPQ	SI, ftgo_Processor_End(CX); \
	JEQ	else

// ftgo_commit makes the record at SI part of its page.
#define ftgo_commit \
	ADDQ	$const_ftgo_RecordSize, SI; \
	MOVQ	SI, ftgo_Processor_At(CX); \
	MOVQ	ftgo_Processor_Page(CX), SI; \
	INCL	const_ftgo_PageCommit(SI); \
	INCQ	ftgo_Goroutine_Seq(BX)

// ftgo_take reports whether a function with a mask that is not zero should call its wrapper. It
// returns false in these cases:
//
//   - The wrapper has called the function: g.ftgoNote is the function's site.
//   - The goroutine is inside a hook.
//   - The function runs on g0 or on the signal stack.
//   - The call has been recorded by the function tracer, or by Entry because no tracer wants its
//     return.
//
// func ftgo_take(site *ftgo_Site) bool
TEXT runtime·ftgo_take<ABIInternal>(SB),NOSPLIT|NOFRAME,$0-16
	CMPQ	AX, g_ftgoNote(R14)
	JEQ	again
	CMPL	g_ftgoBusy(R14), $0
	JNE	no
	MOVQ	g_m(R14), CX
	CMPQ	R14, m_curg(CX)
	JNE	no
	MOVL	runtime·ftgo_runtime+ftgo_Runtime_Mode(SB), R8
	TESTL	$const_ftgo_ModeFunction, R8
	JNE	function
	TESTL	$const_ftgo_ModeEntries, R8
	JNE	entries
yes:
	MOVL	$1, AX
	RET
again:
	MOVQ	$0, g_ftgoNote(R14)
no:
	XORL	AX, AX
	RET
entries:
	MOVQ	8(BP), BX // BP is the frame of the function; this is its return address
	JMP	runtime·ftgo_entered<ABIInternal>(SB)
function:
	ftgo_state(yes)
	MOVQ	8(BP), DI
	SUBQ	runtime·ftgo_runtime+ftgo_Runtime_Text(SB), DI
	MOVQ	DI, R8
	SHRQ	$32, R8
	JNE	yes
	MOVL	ftgo_Site_ID(AX), R9
	ftgo_now
	SHLQ	$const_ftgo_ClockShift, AX
	ORQ	$const_ftgo_KindFunction, AX
	MOVQ	AX, 0(SI)
	MOVL	R9, const_ftgo_RecordFunc(SI)
	MOVL	DI, const_ftgo_RecordUpper(SI)
	ftgo_commit
	XORL	AX, AX
	RET

// ftgo_enter is the entry hook of a wrapper. On each path its last act is to set g.ftgoNote.
// Without the note, the function and its wrapper would call each other endlessly.
//
// func ftgo_enter(site *ftgo_Site) uintptr
TEXT runtime·ftgo_enter<ABIInternal>(SB),NOSPLIT|NOFRAME,$0-16
	MOVL	runtime·ftgo_runtime+ftgo_Runtime_Mode(SB), R8
	TESTL	$const_ftgo_ModeProfile, R8
	JNE	profile
	TESTL	$const_ftgo_ModeGraph, R8
	JEQ	slow
	ftgo_state(slow)
	MOVQ	ftgo_Goroutine_Top(BX), DI
	CMPQ	DI, ftgo_Goroutine_End(BX)
	JCC	slow
	MOVQ	AX, R9
	ftgo_now
	MOVQ	AX, R10
	SHLQ	$const_ftgo_ClockShift, R10
	ORQ	$const_ftgo_KindEntry, R10
	MOVQ	R10, 0(SI)
	MOVL	ftgo_Site_ID(R9), R11
	MOVL	R11, const_ftgo_RecordFunc(SI)
	MOVL	ftgo_Goroutine_Depth(BX), R12
	MOVL	R12, const_ftgo_RecordUpper(SI)
	INCL	R12
	MOVL	R12, ftgo_Goroutine_Depth(BX)
	ftgo_commit
	MOVQ	R9, ftgo_Frame_Func(DI)
	MOVQ	AX, ftgo_Frame_Start(DI)
	MOVQ	AX, ftgo_Frame_Token(DI)
	MOVQ	R8, ftgo_Frame_Mode(DI) // and ftgo_Frame_Over, which follows it
	ADDQ	$ftgo_Frame__size, DI
	MOVQ	DI, ftgo_Goroutine_Top(BX)
	MOVQ	R9, g_ftgoNote(R14)
	RET
profile:
	MOVQ	g_ftgo(R14), BX
	TESTQ	BX, BX
	JEQ	slow
	MOVQ	ftgo_Goroutine_Top(BX), DI
	CMPQ	DI, ftgo_Goroutine_End(BX)
	JCC	slow
	MOVQ	AX, R9
	ftgo_now
	MOVQ	R9, ftgo_Frame_Func(DI)
	MOVQ	AX, ftgo_Frame_Start(DI)
	MOVQ	AX, ftgo_Frame_Token(DI)
	MOVQ	R8, ftgo_Frame_Mode(DI)
	MOVQ	$0, ftgo_Frame_Child(DI)
	ADDQ	$ftgo_Frame__size, DI
	MOVQ	DI, ftgo_Goroutine_Top(BX)
	INCL	ftgo_Goroutine_Depth(BX)
	MOVQ	R9, g_ftgoNote(R14)
	RET
slow:
	JMP	runtime·ftgo_enterSlow<ABIInternal>(SB)

// ftgo_exit is the exit hook, which wrappers defer. It clears the note, which is left over if the
// mask was cleared between the wrapper and the function.
//
// func ftgo_exit(tok uintptr)
TEXT runtime·ftgo_exit<ABIInternal>(SB),NOSPLIT|NOFRAME,$0-8
	MOVQ	$0, g_ftgoNote(R14)
	MOVL	runtime·ftgo_runtime+ftgo_Runtime_Mode(SB), R8
	TESTL	$const_ftgo_ModeProfile, R8
	JNE	profile
	TESTL	$const_ftgo_ModeGraph, R8
	JEQ	slow
	CMPQ	g__panic(R14), $0 // which may be what ends the call
	JNE	slow
	ftgo_state(slow)
	MOVL	ftgo_Goroutine_Depth(BX), R12
	SUBL	$1, R12
	JCS	slow
	MOVQ	ftgo_Goroutine_Top(BX), DI
	SUBQ	$ftgo_Frame__size, DI
	CMPQ	AX, ftgo_Frame_Token(DI)
	JNE	slow
	CMPQ	R8, ftgo_Frame_Mode(DI) // and ftgo_Frame_Over, which must be 0
	JNE	slow
	MOVQ	ftgo_Frame_Func(DI), R9
	MOVL	ftgo_Site_ID(R9), R9
	ftgo_now
	SHLQ	$const_ftgo_ClockShift, AX
	ORQ	$const_ftgo_KindReturn, AX
	MOVQ	AX, 0(SI)
	MOVL	R9, const_ftgo_RecordFunc(SI)
	MOVL	R12, const_ftgo_RecordUpper(SI)
	MOVL	R12, ftgo_Goroutine_Depth(BX)
	MOVQ	DI, ftgo_Goroutine_Top(BX)
	ftgo_commit
	RET
profile:
	MOVQ	g_ftgo(R14), BX
	TESTQ	BX, BX
	JEQ	slow
	MOVL	ftgo_Goroutine_Depth(BX), R12
	SUBL	$1, R12
	JCS	slow
	MOVQ	ftgo_Goroutine_Top(BX), DI
	SUBQ	$ftgo_Frame__size, DI
	CMPQ	AX, ftgo_Frame_Token(DI)
	JNE	slow
	CMPQ	R8, ftgo_Frame_Mode(DI)
	JNE	slow
	MOVQ	g_m(R14), CX
	MOVQ	m_p(CX), CX
	MOVQ	p_ftgo(CX), CX
	TESTQ	CX, CX
	JEQ	slow
	MOVQ	ftgo_Frame_Func(DI), R9
	MOVL	ftgo_Site_ID(R9), R9
	CMPL	R9, ftgo_Processor_NStats(CX)
	JCC	slow
	MOVQ	ftgo_Processor_Stats(CX), SI
	MOVQ	(SI)(R9*8), SI
	TESTQ	SI, SI
	JEQ	slow
	// This counts the previous call in the histogram. The counter is read in the shadow of what
	// precedes it. An access to an address that depends on the clock of this call would make the
	// hook a third longer.
	MOVQ	ftgo_Processor_Pending(CX), R10
	TESTQ	R10, R10
	JEQ	none
	INCL	(R10)
none:
	ftgo_now
	SUBQ	ftgo_Frame_Start(DI), AX // how long the call took
	MOVL	R12, ftgo_Goroutine_Depth(BX)
	MOVQ	DI, ftgo_Goroutine_Top(BX)
	TESTL	R12, R12
	JEQ	outermost
	ADDQ	AX, (ftgo_Frame_Child-ftgo_Frame__size)(DI)
outermost:
	INCQ	ftgo_Stat_Hits(SI)
	ADDQ	AX, ftgo_Stat_Total(SI)
	MOVQ	ftgo_Frame_Child(DI), R10
	ADDQ	R10, ftgo_Stat_Below(SI)
	XORPS	X0, X0
	CVTSQ2SD	AX, X0
	MOVQ	X0, R10
	MULSD	X0, X0
	ADDSD	ftgo_Stat_Squares(SI), X0
	MOVSD	X0, ftgo_Stat_Squares(SI)
	CMPQ	AX, ftgo_Stat_Min(SI)
	JCS	shortest
	CMPQ	AX, ftgo_Stat_Max(SI)
	JHI	longest
bucket: // tracefile.Bucket
	SHRQ	$const_ftgo_HistShift, R10
	SUBQ	$const_ftgo_HistZero, R10
	JCS	first
	CMPQ	R10, $const_ftgo_HistLast
	JHI	last
pending:
	LEAQ	ftgo_Stat__size(SI)(R10*4), R10
	MOVQ	R10, ftgo_Processor_Pending(CX)
	RET
shortest:
	MOVQ	AX, ftgo_Stat_Min(SI)
	CMPQ	AX, ftgo_Stat_Max(SI)
	JLS	bucket
longest:
	MOVQ	AX, ftgo_Stat_Max(SI)
	JMP	bucket
first:
	XORL	R10, R10
	JMP	pending
last:
	MOVL	$const_ftgo_HistLast, R10
	JMP	pending
slow:
	JMP	runtime·ftgo_exitSlow<ABIInternal>(SB)
