package instance

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

// TestRemaining reads PTTL's answers.
func TestRemaining(t *testing.T) {
	for ms, want := range map[int64]time.Duration{
		-1: wire.NoExpiry, -2: 0, -3: 0, 0: 0, 1: time.Millisecond, 5000: 5 * time.Second,
		1<<63 - 1: 1<<63 - 1, -1 << 63: 0,
	} {
		require.Equal(t, want, remaining(ms), "%d", ms)
	}
}

// TestSinkLimits bounds the size of an answer.
func TestSinkLimits(t *testing.T) {
	s := &replyBuffer{limit: 10}
	_, err := s.Write([]byte("$99"))
	require.NoError(t, err)
	_, err = s.ReadFrom(io.LimitReader(bytes.NewReader(make([]byte, 100)), 8))
	require.ErrorIs(t, err, ErrReply)
	_, err = s.Write(make([]byte, 8))
	require.ErrorIs(t, err, ErrReply)
	_, err = s.ReadFrom(bytes.NewReader(nil))
	require.ErrorIs(t, err, ErrReply)
	_, err = s.ReadFrom(io.LimitReader(bytes.NewReader(make([]byte, 2)), 5))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// FuzzReplies: no answer, however broken, makes a decoder panic or read beyond its end.
func FuzzReplies(f *testing.F) {
	for _, seed := range []string{
		"*7\r\n:7\r\n:1\r\n$-1\r\n:0\r\n:5\r\n:1\r\n:1\r\n",
		"*5\r\n$1\r\n7\r\n:1000002\r\n:5\r\n:-3\r\n$3\r\nS@1\r\n", "*4\r\n$1\r\n7\r\n:1\r\n:0\r\n$2\r\nEx\r\n",
		"*4\r\n*-1\r\n*3\r\n$1\r\nx\r\n:3\r\n*1\r\n+write\r\n$-1\r\n_\r\n",
		"$12\r\nrun_id:ab\r\n\r\n\r\n", "%1\r\n+save\r\n$0\r\n\r\n", "*2\r\n$1\r\n1\r\n$1\r\n1\r\n", "-ERR no\r\n", "!3\r\nERR\r\n", ":-9223372036854775808\r\n",
		"=8\r\ntxt:role\r\n", "*2147483647\r\n", "$2147483647\r\n", "*1\r\n*1\r\n*1\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if a, ok := decodeScript(raw); ok {
			require.Contains(t, []int64{scriptRefused, scriptGranted, scriptOtherSet, scriptReplaced}, a.outcome)
			require.LessOrEqual(t, len(a.text), len(raw))
		}
		r := &Redis{}
		for part := range questions {
			asks := make([]command, len(questions))
			for i := range asks {
				asks[i].reply.raw = []byte("-NOPERM no\r\n")
			}
			asks[part].reply.raw = raw
			var id wire.Identity
			if len(raw) == 0 {
				continue
			}
			if err := r.identify(&id, asks); err == nil {
				require.GreaterOrEqual(t, len(id.Hidden), partMark-1)
			}
		}
		for _, op := range []wire.Op{wire.Acquire, wire.Look, wire.Extend} {
			c := &call{req: wire.Request{Op: op, Clock: true}, in: &batch{}}
			if a, ok := decodeScript(raw); ok {
				c.take(a)
				require.True(t, c.vote.Outcome != wire.Granted || c.vote.Err == nil)
			}
		}
		for _, s := range []*script{extendScript, releaseScript} {
			a := &command{script: s, reply: replyBuffer{raw: raw}}
			for range 3 {
				a.calls = append(a.calls, &call{req: wire.Request{Op: wire.Extend}, in: &batch{}})
			}
			a.readList()
			for _, c := range a.calls {
				require.True(t, c.vote.Outcome != wire.Granted || c.vote.Err == nil)
				require.True(t, c.vote.Outcome != wire.Failed || c.vote.Err != nil)
			}
		}
		s := &replyBuffer{limit: 64, first: isInteger}
		if len(raw) > 0 {
			_, _ = s.Write(raw)
			_, _ = s.failure()
		}
	})
}
