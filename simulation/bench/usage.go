package main

import (
	"runtime"
	"syscall"
	"time"
)

// Usage is what a client used during the measurement.
type Usage struct {
	Elapsed, CPU time.Duration
	Mallocs      uint64
	Goroutines   int // the largest number
}

// measured returns what the client uses while it does something.
func measured(do func()) Usage {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	most := countGoroutines()
	began, used := time.Now(), cpu()
	do()
	elapsed, cpu := time.Since(began), cpu()-used
	runtime.ReadMemStats(&after)
	return Usage{elapsed, cpu, after.Mallocs - before.Mallocs, most()}
}

// cpu is the processor time that this process has used.
func cpu() time.Duration {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		panic(err) // only for wrong arguments
	}
	return time.Duration(own.Utime.Nano() + own.Stime.Nano())
}

// countGoroutines samples the number of goroutines until the returned function is called, which
// returns the largest.
func countGoroutines() func() int {
	done, most := make(chan struct{}), make(chan int)
	go func() {
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		n := 0
		for {
			n = max(n, runtime.NumGoroutine())
			select {
			case <-done:
				most <- n
				return
			case <-ticker.C:
			}
		}
	}()
	return func() int {
		close(done)
		return <-most
	}
}
