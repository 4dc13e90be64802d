package box

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSteps(t *testing.T) {
	for _, text := range []string{"c1 waits", "pause c2", "hang AB", "cut c1 ABC", "c3 releases"} {
		step, err := ParseStep(text)
		require.NoError(t, err)
		assert.Equal(t, text, step.String())
	}
	for _, word := range Words() {
		step, err := ParseStep(word.Example)
		require.NoError(t, err)
		assert.Equal(t, word.Example, step.String())
	}
	for _, text := range []string{"", "c1", "waits c1", "pause", "c9 waits", "hang c1 AB", "cut AB c1", "hang AX", "c1 waits waits"} {
		_, err := ParseStep(text)
		assert.Error(t, err, text)
	}
	var s Schedule
	require.NoError(t, json.Unmarshal([]byte(`["c1 waits", "hang AD"]`), &s))
	assert.Equal(t, []string{"c1"}, s.clients())
	assert.ErrorContains(t, s.validate(3), `the step "hang AD" names a server that isn't there; there are 3, ABC`)
	assert.NoError(t, s.validate(4))
}

func TestCases(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for _, c := range Cases(n) {
			assert.NoError(t, c.Schedule.validate(c.Servers), c.Title)
			assert.Equal(t, serversFor(c.Fault, n), c.Servers)
			assert.Contains(t, Faults(), c.Fault)
		}
	}
	assert.Len(t, Cases(5), len(Cases(4)), "the even number is played on four of the five")
}

// A seed selects a schedule. Each ends with a client that gets the lock.
func TestDraw(t *testing.T) {
	for _, fault := range Faults() {
		for seed := range uint64(200) {
			s := draw(seed, fault, 5)
			assert.Equal(t, s, draw(seed, fault, 5))
			assert.NoError(t, s.validate(5))
			assert.Equal(t, releases, s[len(s)-1].Do)
			assert.LessOrEqual(t, len(s), 60)
		}
	}
}

func TestFindings(t *testing.T) {
	acquired := func(client string, lease, began int, token uint64) Entry {
		return Entry{Client: client, Lease: lease, Began: began, What: wasAcquired, Token: token}
	}
	looked := func(client string, began int) Entry {
		return Entry{Client: client, Lease: 1, What: wasValid, Began: began}
	}
	for name, tc := range map[string]struct {
		history []Entry
		want    []Kind
	}{
		"in turn": {[]Entry{acquired("c1", 1, 0, 5), {Client: "c1", Lease: 1, What: wasValid, Began: 1}, acquired("c2", 1, 2, 6)}, nil},
		"a check that began before the other got the lock": {[]Entry{acquired("c1", 1, 0, 0), acquired("c2", 1, 1, 0), {Client: "c1", Lease: 1, What: wasValid, Began: 1}}, nil},
		"two holders":                                       {[]Entry{acquired("c1", 1, 0, 0), acquired("c2", 1, 1, 0), {Client: "c1", Lease: 1, What: wasValid, Began: 2}}, []Kind{TwoHolders}},
		"a grant that comes late":                           {[]Entry{acquired("c2", 1, 0, 0), acquired("c1", 1, 0, 0), looked("c2", 2)}, nil},
		"a grant that comes late, and is over":              {[]Entry{acquired("c2", 1, 0, 0), acquired("c1", 1, 0, 0), {Client: "c1", Lease: 1, What: wasOver, Began: 2}, looked("c2", 3)}, nil},
		"a grant that comes late, to a holder that goes on": {[]Entry{acquired("c2", 1, 0, 0), acquired("c1", 1, 0, 0), looked("c1", 2), looked("c2", 3)}, []Kind{TwoHolders}},
		"the same, seen by the other":                       {[]Entry{acquired("c2", 1, 0, 0), acquired("c1", 1, 0, 0), looked("c2", 2), looked("c1", 3)}, []Kind{TwoHolders}},
		"a grant that comes late, in turn":                  {[]Entry{acquired("c2", 1, 0, 0), looked("c2", 1), acquired("c1", 1, 0, 0), looked("c1", 3)}, nil},
		"equal tokens":                                      {[]Entry{acquired("c1", 1, 0, 5), acquired("c2", 1, 0, 5)}, []Kind{TokenOrder}},
		"a smaller token":                                   {[]Entry{acquired("c1", 1, 0, 5), acquired("c2", 1, 1, 4)}, []Kind{TokenOrder}},
		"two at once, in any order":                         {[]Entry{acquired("c1", 1, 0, 5), acquired("c2", 1, 0, 4)}, nil},
		"a stale write":                                     {[]Entry{acquired("c1", 1, 0, 0), acquired("c2", 1, 1, 0), {Client: "c2", Lease: 1, What: wasRead, Began: 2}, {Client: "c1", Lease: 1, What: wasWritten, Began: 3}}, []Kind{StaleWrite}},
		"a lost update":                                     {[]Entry{acquired("c1", 1, 0, 0), {Client: "c1", Lease: 1, What: wasWritten, Version: 1, Found: 2}}, []Kind{LostUpdate}},
	} {
		for i := range tc.history {
			tc.history[i].Seq = i + 1
		}
		assert.ElementsMatch(t, tc.want, Play{Findings: findingsIn(tc.history)}.kinds(), name)
	}
}
