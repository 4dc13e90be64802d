package check

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/record"
)

// The assumption that a check sees broken decides whether a finding is a bug. Package oracle compares the findings
// themselves, but for those of liveness.
func TestViolations(t *testing.T) {
	event := func(kind record.EventKind, lease int) *record.Event {
		return &record.Event{Kind: kind, Process: fmt.Sprint("c", lease), Key: "k", Lease: lease, Token: fencing.Token(lease)}
	}
	until := func(end time.Duration) *record.Event {
		e := event(record.Acquired, 1)
		e.Truth = &record.Truth{Until: end}
		return e
	}
	write := func(lease int, asOf, version uint64, at time.Duration) *record.Event {
		e := event(record.Write, lease)
		e.AsOf, e.Version, e.At = asOf, version, at
		return e
	}
	on := func(have, forgot int) *record.Event {
		e := event(record.Acquired, 1)
		e.Truth = &record.Truth{Until: time.Second, Quorum: 3, Have: have, Forgot: forgot}
		return e
	}
	// tries asks in vain, for two keys at once.
	tries := func(log record.Log, at ...time.Duration) record.Log {
		for _, now := range at {
			asked, refused := event(record.Asked, 1), event(record.Refused, 0)
			refused.Process, refused.Truth = asked.Process, &record.Truth{Also: []string{"l"}}
			asked.At, refused.At = now, now
			log = append(log, asked, refused)
		}
		return log
	}
	other := until(4)
	other.Key = "l"
	asks1, asks2, gets2, reads2 := event(record.Asked, 1), event(record.Asked, 2), event(record.Acquired, 2), event(record.Read, 2)
	gets2.At = 5
	late := record.Log{asks1, until(5), asks2, gets2, reads2, write(1, 0, 1, 6)}
	for name, test := range map[string]struct {
		log   record.Log
		rules Rules
		want  []string
	}{
		"a write comes twice, and into another's update": {
			record.Log{asks1, event(record.Acquired, 1), write(1, 0, 1, 0), asks2, gets2, reads2, write(1, 0, 2, 0), write(2, 1, 3, 0)},
			Rules{}, []string{"stale write 0", "lost update 1", "lost update 1"},
		},
		"a late write":                          {late, Rules{}, []string{"stale write 1"}},
		"a late write that the resource admits": {late, Rules{Admits: true}, []string{"stale write 0"}},
		"overlapping grants, and the first holder is late": {
			record.Log{asks1, asks2, until(5), gets2, write(1, 0, 1, 6), write(2, 1, 2, 6)},
			Rules{Requests: true}, []string{"two holders 1"},
		},
		"too few servers have it":        {record.Log{asks1, on(2, 0)}, Rules{}, []string{"validity beyond reality 0"}},
		"nobody gets it":                 {tries(nil, 0, 1, 2, 3, 4), Rules{Patience: 4}, []string{"no progress 0"}},
		"nobody tries for a while":       {tries(nil, 0, 1, 3, 4), Rules{Patience: 4}, nil},
		"another has the other key":      {tries(record.Log{other}, 0, 1, 2, 3, 4), Rules{Patience: 4}, nil},
		"a server has lost it meanwhile": {record.Log{asks1, on(2, 1)}, Rules{}, []string{"validity beyond reality 3"}},
	} {
		var got []string
		for _, f := range Violations(test.log, test.rules) {
			got = append(got, fmt.Sprint(f.Kind, " ", f.Assumption))
		}
		assert.Equal(t, test.want, got, name)
	}
}
