//go:build !race

package ftrace

func raceAcquire() {}
