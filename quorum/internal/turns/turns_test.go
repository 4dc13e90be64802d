package turns

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/fencing"
)

// queueOf is a queue with n waiters, 1 to n.
func queueOf(r Rules, n int) *Queue[int, int] {
	q := New[int, int](&r)
	for i := range n {
		q.Enter(i + 1)
	}
	return &q
}

func TestTurnsPerWaiter(t *testing.T) {
	for waiting, turns := range map[int]int{1: 1, 5: 5, 200: maxTurns} {
		for _, polls := range []bool{false, true} {
			q := queueOf(Rules{Polls: polls}, waiting)
			q.Acquired(1, 1, time.Second)
			assert.Equal(t, turns, q.turns.left)
		}
	}
}

// If processes poll, a pause follows the turns: a long one if another process is known to want the
// lock.
func TestPollingStepsBack(t *testing.T) {
	const long, short = 200 * time.Millisecond, 10 * time.Millisecond
	at := time.Second
	turn := func(q *Queue[int, int], token fencing.Token, held time.Duration) (last bool, pause time.Duration) {
		q.Acquired(1, token, at)
		if last = q.EndTurn(); last {
			q.Yield(at + held)
		}
		return last, q.StepBack(at + held)
	}
	check := func(what string, want time.Duration, last bool, pause time.Duration) {
		t.Helper()
		assert.Equal(t, want > 0, last, what)
		assert.Equal(t, want, pause, what)
	}
	rules := Rules{Polls: true, Long: long, Short: short}
	q := queueOf(rules, 2)
	last, pause := turn(q, 1, 0)
	check("the first of two turns", 0, last, pause)
	last, pause = turn(q, 2, 0)
	check("the last turn", short, last, pause)
	assert.True(t, q.Yields())

	last, pause = turn(queueOf(rules, 1), 1, 16*50*time.Millisecond)
	check("held for long", 50*time.Millisecond, last, pause)
	last, pause = turn(queueOf(rules, 1), 1, time.Hour)
	check("held for very long", long, last, pause)

	q = queueOf(rules, 1)
	q.Taken(at)
	last, pause = turn(q, 1, 0)
	check("refused before", long, last, pause)

	q = queueOf(rules, 1)
	turn(q, 1, 0)
	last, pause = turn(q, 3, 0)
	check("another process has asked in between", long, last, pause)
	assert.Equal(t, long, q.StepBack(at), "it says so until the pause is over")
	assert.Zero(t, q.StepBack(at+long))
}

// Another process that was notified is let in once, and is known for a while.
func TestOtherProcessIsLetInOnce(t *testing.T) {
	q := queueOf(Rules{}, 1)
	assert.False(t, q.Timed())
	assert.True(t, q.Settled(0))
	now := time.Second
	q.LetIn(now)
	assert.True(t, q.Timed())
	assert.True(t, q.Yields())
	assert.Equal(t, yieldFor, q.StepBack(now))
	assert.False(t, q.Yields())
	assert.Zero(t, q.StepBack(now))
	assert.True(t, q.Contested(now+contestedFor-1))
	assert.False(t, q.Settled(now+contestedFor-1))
	assert.False(t, q.Contested(now+contestedFor))
	assert.True(t, q.Settled(now+contestedFor))
}

func TestPositions(t *testing.T) {
	q := queueOf(Rules{}, 2)
	at := func(instance int) Position { return Position{Instance: instance, Address: "here"} }
	assert.Zero(t, q.Subscribe(1))
	assert.Zero(t, q.SetPosition(at(1), 1))
	assert.Equal(t, at(1), q.Subscribe(1), "it has one there")
	assert.Zero(t, q.Subscribe(2))
	assert.Equal(t, at(1), q.SetPosition(at(2), 1), "it had one elsewhere")

	_, ok := q.Notify(1)
	assert.False(t, ok, "it isn't in that queue any more")
	wake, ok := q.Notify(2)
	assert.True(t, ok)
	assert.Equal(t, 1, wake)
	assert.True(t, q.Subscribe(2).Notified)
	assert.Equal(t, View[int]{First: true}, q.Look(1, false), "it leaves the notification")
	assert.True(t, q.Look(1, true).Notified)
	assert.False(t, q.Look(1, true).Notified, "it was notified")

	assert.Zero(t, q.Changed(1, ""))
	assert.Equal(t, 1, q.Changed(2, "here"))
	assert.NotZero(t, q.Subscribe(2), "it is at this address")
	assert.Equal(t, 1, q.Changed(2, ""))
	assert.Zero(t, q.Subscribe(2), "it was lost with the subscription")

	q.SetPosition(at(2), 1)
	_, withdraw := q.Leave(1, false)
	assert.Zero(t, withdraw, "the next waiter uses it")
	_, withdraw = q.Leave(2, true)
	assert.Equal(t, at(2), withdraw, "the lock came without it")

	q.Enter(1)
	q.SetPosition(at(2), 1)
	q.Notify(2)
	_, withdraw = q.Leave(1, true)
	assert.Zero(t, withdraw, "the notification was for this")
}

// A process that polls has its turns, although others that ask in between take tokens: otherwise it would
// never step back for them.
func TestTurnsEndThoughOthersTakeTokens(t *testing.T) {
	q := queueOf(Rules{Polls: true, Long: time.Second}, 3)
	for turn := range 3 {
		q.Acquired(1, fencing.Token(10*turn+1), time.Second)
		assert.Equal(t, turn == 2, q.EndTurn())
	}
}
