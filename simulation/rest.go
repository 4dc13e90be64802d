package simulation

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
)

// What follows is known to the runtime alone, which tells it by the words in which
// runtime.Stack describes goroutines. This is the only place that reads them.

// awaitRest returns when all other goroutines of the calling one's bubble stand: when
// each waits for something that only the driver can give it, or another goroutine that
// stands. That is what synctest.Wait does, but it is also for goroutines that wait for a
// mutex of one that stands, and beside the driver that waits in synctest.Wait itself.
func awaitRest() {
	var s snapshot
	strange := map[string]int{}
	for looks := 1; ; looks++ {
		s.take()
		at := slices.ContainsFunc(s.strange, func(number string) bool { return strange[number] < strangeFor })
		if s.rests && !at {
			return
		}
		for _, number := range s.strange {
			strange[number]++
		}
		// A look stops the world, and who waits for the same right to do that, or to begin
		// a garbage collection, gets it between two looks or never.
		for range min(looks, 100) {
			runtime.Gosched()
		}
	}
}

// strangeFor is after how many looks a goroutine that runs outside of every bubble is held
// for one that belongs there. One of the bubble isn't in it, as the runtime tells, for as
// long as it works for the garbage collector.
const strangeFor = 1000

// snapshot is what the goroutines did at one moment.
type snapshot struct {
	text    []byte
	rests   bool     // of the calling one's bubble, all others stand, and none works for the garbage collector
	strange []string // the numbers of those that run, and are in no bubble
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

// read reads what runtime.Stack writes: the calling goroutine, and the others after it.
// Each begins with a line like
//
//	goroutine 18 [chan receive (durable), synctest bubble 3]:
func (s *snapshot) read(text []byte) {
	s.rests, s.strange = true, s.strange[:0]
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
			panic("simulation: not in a bubble, or in one of a Go version that describes goroutines in other words: " + header)
		case first:
			bubble = in
		case inBubble && in == bubble:
			s.rests = s.rests && stands(state)
		case inBubble: // another one
		case collects(state):
			s.rests = false
		case state == "running" || state == "runnable":
			s.strange = append(s.strange, number)
		}
	}
}

// stands reports whether a goroutine of a bubble stands that is in such a state.
func stands(state string) bool {
	return strings.HasSuffix(state, "(durable)") || slices.Contains([]string{"sync.Mutex.Lock", "sync.RWMutex.Lock", "sync.RWMutex.RLock"}, state)
}

// collects reports whether one in no bubble may belong to one, which it isn't in while it
// works for the garbage collector.
func collects(state string) bool {
	return slices.Contains([]string{
		"semacquire", "GC assist wait", "GC assist marking", "GC mark termination", "GC weak to strong wait", "garbage collection",
		"garbage collection scan", "stopping the world", "flushing proc caches", "wait for GC cycle", "waiting", "preempted", "copystack",
	}, state)
}
