// Package goroutines tells whether the goroutines of a testing/synctest bubble are blocked,
// including those that wait for a mutex. Only runtime.Stack knows that, and this is the only
// place that reads its text.
package goroutines

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
)

// AwaitBlocked returns when all other goroutines of the caller's bubble are blocked: when
// each waits for the driver, or for another blocked goroutine. synctest.Wait does the same,
// but not for goroutines that wait for a mutex, and only one goroutine may call it.
func AwaitBlocked() {
	var s snapshot
	outside := map[string]int{}
	for looks := 1; ; looks++ {
		s.take()
		recent := slices.ContainsFunc(s.outside, func(number string) bool { return outside[number] < outsideFor })
		if s.blocked && !recent {
			return
		}
		for _, number := range s.outside {
			outside[number]++
		}
		// A look stops the world. A goroutine that waits to stop it too, or to begin a
		// garbage collection, gets its turn only between two looks.
		for range min(looks, 100) {
			runtime.Gosched()
		}
	}
}

// outsideFor is how many looks a goroutine that runs outside of every bubble may belong to
// the bubble: the runtime shows a goroutine that works for the garbage collector without
// its bubble.
const outsideFor = 1000

// snapshot is what the goroutines did at one moment.
type snapshot struct {
	text    []byte
	blocked bool     // all others of the caller's bubble, and none works for the garbage collector
	outside []string // the numbers of the goroutines that run outside of every bubble
}

func (s *snapshot) take() {
	if s.text == nil {
		s.text = make([]byte, 64<<10)
	}
	n := runtime.Stack(s.text, true)
	for n == len(s.text) {
		s.text = make([]byte, 2*len(s.text))
		n = runtime.Stack(s.text, true)
	}
	s.read(s.text[:n])
}

// read reads the text of runtime.Stack: the calling goroutine first, then the others. Each
// begins with a line like
//
//	goroutine 18 [chan receive (durable), synctest bubble 3]:
func (s *snapshot) read(text []byte) {
	s.blocked, s.outside = true, s.outside[:0]
	var bubble string
	for first := true; len(text) > 0; first = false {
		var one []byte
		one, text, _ = bytes.Cut(text, []byte("\n\n"))
		header, _, _ := strings.Cut(string(one), "]:")
		number, state, _ := strings.Cut(strings.TrimPrefix(header, "goroutine "), " [")
		state, in, inBubble := strings.Cut(state, ", synctest bubble ")
		in, _, _ = strings.Cut(in, " ")
		state, _, _ = strings.Cut(state, ",")
		switch {
		case first && !inBubble:
			panic("simulation: not in a bubble, or this Go version describes goroutines differently: " + header)
		case first:
			bubble = in
		case inBubble && in == bubble:
			s.blocked = s.blocked && blocked(state)
		case inBubble: // another one
		case collects(state):
			s.blocked = false
		case state == "running" || state == "runnable":
			s.outside = append(s.outside, number)
		}
	}
}

// blocked reports whether a goroutine of a bubble is blocked in this state.
func blocked(state string) bool {
	return strings.HasSuffix(state, "(durable)") || slices.Contains([]string{"sync.Mutex.Lock", "sync.RWMutex.Lock", "sync.RWMutex.RLock"}, state)
}

// collects reports whether a goroutine in this state, outside of every bubble, may belong to
// one and work for the garbage collector.
func collects(state string) bool {
	return slices.Contains([]string{
		"semacquire", "GC assist wait", "GC assist marking", "GC mark termination", "GC weak to strong wait", "garbage collection",
		"garbage collection scan", "stopping the world", "flushing proc caches", "wait for GC cycle", "waiting", "preempted", "copystack",
	}, state)
}
