package goroutines

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
)

// AwaitBlocked knows the words with which this Go version describes goroutines.
func TestBlockedGoroutinesAreSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held, spins sync.Mutex
		held.Lock()
		spins.Lock()
		var all sync.WaitGroup
		all.Go(func() {
			held.Lock()
			defer held.Unlock()
		})
		done := make(chan bool, 1)
		spinning := make(chan struct{})
		go func() {
			close(spinning)
			for !spins.TryLock() {
				continue
			}
		}()
		<-spinning
		var s snapshot
		s.take()
		assert.False(t, s.blocked, "one spins:\n%s", s.text)
		spins.Unlock()
		go func() {
			AwaitBlocked()
			done <- true
			held.Unlock()
		}()
		assert.True(t, <-done, "one waits for a mutex whose owner is blocked")
		all.Wait()
	})
}

func TestGoroutinesAsTheRuntimeDescribesThem(t *testing.T) {
	const own = "goroutine 7 [running, synctest bubble 3]:\nmain.f()\n"
	for _, c := range []struct {
		others  string
		blocked bool
		outside []string
	}{
		{"", true, nil},
		{"goroutine 1 [chan receive]:\nx\n\ngoroutine 8 [select (durable), synctest bubble 3]:\nx\n\ngoroutine 9 [sync.Mutex.Lock, synctest bubble 3]:\nx", true, nil},
		{"goroutine 8 [runnable, synctest bubble 3]:\nx", false, nil},
		{"goroutine 8 [runnable, synctest bubble 31]:\nx", true, nil},
		{"goroutine 8 [chan receive, 2 minutes, synctest bubble 3]:\nx", false, nil},
		{"goroutine 8 [synctest.Wait (durable), locked to thread, synctest bubble 3 labels:{\"a\": \"b\"}]:\nx", true, nil},
		{"goroutine 8 [runnable]:\nx\n\ngoroutine 9 [running]:\nx", true, []string{"8", "9"}},
		{"goroutine 8 [semacquire]:\nx", false, nil},
		{"goroutine 8 [GC assist wait]:\nx", false, nil},
		{"goroutine 8 gp=0xc000002000 m=nil [force gc (idle), 2 minutes]:\nx", true, nil},
		{"goroutine 8 [select, 3 minutes]:\nx", true, nil},
	} {
		var s snapshot
		s.read([]byte(strings.TrimSuffix(own+"\n"+c.others, "\n\n") + "\n"))
		assert.Equal(t, c.blocked, s.blocked, c.others)
		assert.ElementsMatch(t, c.outside, s.outside, c.others)
	}
	var s snapshot
	assert.Panics(t, func() { s.read([]byte("goroutine 7 [running]:\nmain.f()\n")) })
}
