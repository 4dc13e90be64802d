package judge_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/search/judge"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lock, unlock, read and write build operations on the key k, with times in seconds.
func lock(client string, call, ret int, token fencing.Token) judge.Operation {
	return judge.Operation{Client: client, Key: "k", Kind: judge.Lock, Call: seconds(call), Return: seconds(ret), Outcome: judge.Done, Token: token}
}

func unlock(client string, at int) judge.Operation {
	return judge.Operation{Client: client, Key: "k", Kind: judge.Unlock, Call: seconds(at), Return: seconds(at), Outcome: judge.Done}
}

func read(client string, call, ret int, token fencing.Token, version uint64, value int64) judge.Operation {
	return judge.Operation{Client: client, Key: "k", Kind: judge.Read, Call: seconds(call), Return: seconds(ret), Outcome: judge.Done, Token: token, Version: version, Value: value}
}

func write(client string, call, ret int, token fencing.Token, version uint64, value int64) judge.Operation {
	o := read(client, call, ret, token, version, value)
	o.Kind = judge.Write
	return o
}

func unknown(o judge.Operation) judge.Operation { o.Outcome, o.Return = judge.Unknown, 0; return o }
func refused(o judge.Operation) judge.Operation { o.Outcome = judge.Refused; return o }
func on(key string, o judge.Operation) judge.Operation {
	o.Key = key
	return o
}
func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func TestVerdicts(t *testing.T) {
	type ops = []judge.Operation
	holds := judge.Verdict{Exclusion: judge.Holds, Tokens: judge.Holds, Resource: judge.Holds}
	broken := func(exclusion, tokens, resource bool) judge.Verdict {
		v := holds
		for answer, is := range map[*judge.Answer]bool{&v.Exclusion: exclusion, &v.Tokens: tokens, &v.Resource: resource} {
			if is {
				*answer = judge.Broken
			}
		}
		return v
	}
	for name, test := range map[string]struct {
		ops  ops
		want judge.Verdict
	}{
		"nothing happened":                      {nil, holds},
		"one after the other":                   {ops{lock("c1", 0, 1, 1), unlock("c1", 5), lock("c2", 2, 6, 2), unlock("c2", 7)}, holds},
		"at the very moment of the end":         {ops{lock("c1", 0, 1, 1), unlock("c1", 5), lock("c2", 2, 5, 2)}, holds},
		"two holders":                           {ops{lock("c1", 0, 1, 1), unlock("c1", 5), lock("c2", 2, 4, 2), unlock("c2", 7)}, broken(true, false, false)},
		"one holder twice":                      {ops{lock("c1", 0, 1, 1), lock("c1", 2, 3, 2), unlock("c1", 5), unlock("c1", 6)}, broken(true, false, false)},
		"held forever":                          {ops{lock("c1", 0, 1, 1), lock("c2", 100, 101, 2)}, broken(true, false, false)},
		"held forever, of another key":          {ops{lock("c1", 0, 1, 1), on("l", lock("c2", 100, 101, 2))}, holds},
		"an unlock of nothing":                  {ops{unlock("c1", 1)}, broken(true, false, false)},
		"a lock that nobody got":                {ops{lock("c1", 0, 1, 1), unknown(lock("c2", 2, 0, 0)), refused(lock("c3", 2, 3, 0))}, holds},
		"a token twice":                         {ops{lock("c1", 0, 1, 1), unlock("c1", 2), lock("c2", 3, 4, 1)}, broken(false, true, false)},
		"a smaller token later":                 {ops{lock("c1", 0, 1, 2), unlock("c1", 2), lock("c2", 3, 4, 1)}, broken(false, true, false)},
		"a smaller token at once":               {ops{lock("c1", 0, 1, 2), unlock("c1", 1), lock("c2", 1, 4, 1)}, broken(false, true, false)},
		"a smaller token, asked for before":     {ops{lock("c1", 1, 2, 2), unlock("c1", 3), lock("c2", 1, 4, 1)}, holds},
		"no tokens":                             {ops{lock("c1", 0, 1, 0), unlock("c1", 2), lock("c2", 3, 4, 0)}, holds},
		"read, write, read":                     {ops{read("c1", 0, 1, 1, 0, 0), write("c1", 2, 3, 1, 0, 7), read("c2", 4, 5, 2, 1, 7)}, holds},
		"an old value":                          {ops{read("c1", 0, 1, 1, 0, 0), write("c1", 2, 3, 1, 0, 7), read("c2", 4, 5, 2, 0, 0)}, broken(false, false, true)},
		"an old value, while it is written":     {ops{read("c1", 0, 1, 1, 0, 0), write("c1", 2, 5, 1, 0, 7), read("c2", 4, 5, 1, 0, 0)}, holds},
		"a value that nobody wrote":             {ops{write("c1", 2, 3, 1, 0, 7), read("c2", 4, 5, 2, 1, 8)}, broken(false, false, true)},
		"a lost update":                         {ops{write("c1", 1, 4, 1, 0, 7), write("c2", 1, 4, 2, 0, 8)}, broken(false, false, true)},
		"a stale write":                         {ops{read("c2", 1, 2, 2, 0, 0), write("c1", 3, 4, 1, 0, 8)}, broken(false, false, true)},
		"a stale write, without tokens":         {ops{read("c2", 1, 2, 0, 0, 0), write("c1", 3, 4, 0, 0, 8)}, holds},
		"a write that may have been early":      {ops{read("c2", 1, 4, 2, 0, 0), write("c1", 3, 4, 1, 0, 8)}, broken(false, false, true)},
		"a write that was early":                {ops{read("c2", 1, 4, 2, 1, 8), write("c1", 3, 4, 1, 0, 8)}, holds},
		"unanswered, carried out":               {ops{unknown(write("c1", 1, 0, 1, 0, 7)), read("c2", 4, 5, 2, 1, 7)}, holds},
		"unanswered, not carried out":           {ops{unknown(write("c1", 1, 0, 1, 0, 7)), read("c2", 4, 5, 2, 0, 0)}, holds},
		"unanswered, carried out after a later": {ops{unknown(write("c1", 1, 0, 1, 0, 7)), write("c2", 4, 5, 2, 0, 8), read("c2", 6, 7, 2, 2, 7)}, broken(false, false, true)},
		"rightly refused":                       {ops{read("c2", 1, 2, 2, 0, 0), refused(write("c1", 3, 4, 1, 0, 8)), read("c2", 5, 6, 2, 0, 0)}, holds},
		"wrongly refused":                       {ops{read("c1", 1, 2, 1, 0, 0), refused(write("c2", 3, 4, 2, 0, 8))}, broken(false, false, true)},
	} {
		t.Run(name, func(t *testing.T) {
			verdict, err := judge.Check(test.ops, 0)
			require.NoError(t, err)
			assert.Equal(t, test.want, verdict, "%v", verdict)
			assert.Equal(t, test.want == holds, verdict.Holds())
		})
	}
}

// In whatever order a resource carries operations out, its answers are consistent; with one answer
// changed they aren't.
func TestWhatWasCarriedOutHolds(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		var ops []judge.Operation
		var version uint64
		var value int64
		at := 0
		for i := range 20 {
			at += r.IntN(3) + 1
			o := read("c1", max(0, at-r.IntN(20)), at+r.IntN(20), 0, version, value)
			if r.IntN(2) == 0 {
				o.Kind, o.Value = judge.Write, int64(100+i)
				version, value = version+1, o.Value
			}
			o.Client = string(rune('a' + i)) // each has one operation at a time
			ops = append(ops, o)
		}
		ops = append(ops, read("end", at+100, at+100, 0, version, value))
		r.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
		verdict, err := judge.Check(ops, 0)
		require.NoError(t, err)
		require.True(t, verdict.Holds(), "seed %d: %v", seed, verdict)

		i := r.IntN(len(ops))
		ops[i].Version += 100
		verdict, err = judge.Check(ops, 0)
		require.NoError(t, err)
		require.Equal(t, judge.Broken, verdict.Resource, "seed %d: %v is made up", seed, ops[i])
	}
}

// A history that needs more than the given time is not judged.
func TestUndecided(t *testing.T) {
	var ops []judge.Operation
	for i := range 400 { // all at once, and the operation that doesn't fit comes last
		ops = append(ops, unknown(write(string(rune('a'+i)), 0, 1, 0, uint64(i%7), int64(i))))
	}
	ops = append(ops, read("end", 2, 2, 0, 1_000, 0))
	verdict, err := judge.Check(ops, time.Millisecond)
	require.NoError(t, err)
	assert.Equal(t, judge.Undecided, verdict.Resource)
	assert.False(t, verdict.Holds())
	assert.Equal(t, "exclusion holds, tokens holds, resource undecided", verdict.String())
}

func TestBadHistories(t *testing.T) {
	for says, o := range map[string]judge.Operation{
		"no name":                   {Key: "k", Kind: judge.Read, Outcome: judge.Done},
		"its Kind is \"look\"":      {Client: "c1", Kind: "look", Outcome: judge.Done},
		"its Outcome is \"\"":       {Client: "c1", Kind: judge.Read},
		"its Call is -1s":           read("c1", -1, 0, 0, 0, 0),
		"its Return is 1s":          read("c1", 2, 1, 0, 0, 0),
		"an Unlock that is unknown": unknown(unlock("c1", 1)),
		"want 0 to 876000h":         {Client: "c1", Kind: judge.Read, Outcome: judge.Unknown, Call: 1 << 62},
	} {
		_, err := judge.Check([]judge.Operation{read("c1", 0, 1, 0, 0, 0), o}, 0)
		require.ErrorIs(t, err, judge.ErrHistory)
		assert.Contains(t, err.Error(), says)
		assert.Contains(t, err.Error(), "operation 1")
		assert.ErrorIs(t, judge.Visualize(&bytes.Buffer{}, []judge.Operation{o}, 0), judge.ErrHistory)
	}
}

func TestVisualize(t *testing.T) {
	var page bytes.Buffer
	require.NoError(t, judge.Visualize(&page, []judge.Operation{
		lock("c1", 0, 1, 1), read("c1", 1, 2, 1, 0, 0), write("c1", 2, 3, 1, 0, 41), unlock("c1", 4), unknown(write("c2", 2, 3, 2, 0, 42)),
	}, 0))
	for _, words := range []string{"<html", "value 41 for version 0", "held by c1", `c2 write \"k\" token 2: unknown`} {
		assert.Contains(t, page.String(), words)
	}
	assert.NotContains(t, page.String(), "src=\"http", "it needs the network")
	failed := errors.New("the disk is full")
	assert.ErrorIs(t, judge.Visualize(failing{failed}, []judge.Operation{unlock("c1", 4)}, 0), failed)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
