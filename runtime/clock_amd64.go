package ftrace

// ticks reads the time stamp counter: 9 ns on the machine this was measured on, where RDTSCP takes 18 and the monotonic clock 22.
func ticks() uint64

func cpuid(leaf uint32) (eax, edx uint32)

// invariant reports whether the counter runs at one rate whatever the processor does (Intel SDM, volume 3, 17.17.1).
func invariant() bool {
	if top, _ := cpuid(0x80000000); top < 0x80000007 {
		return false
	}
	_, edx := cpuid(0x80000007)
	return edx&(1<<8) != 0
}
