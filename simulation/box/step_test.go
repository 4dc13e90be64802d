//go:build unix

package box

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/box/driver"
	"github.com/redquorum/redlock/simulation/record"
)

func TestSteps(t *testing.T) {
	for _, text := range []string{"c1 waits", "pause c2", "hang AB", "cut c1 ABC", "cut A", "slow c1 A", "slow c1 A 200ms", "ahead A 1m0s", "c3 releases"} {
		step, err := ParseStep(text)
		require.NoError(t, err)
		assert.Equal(t, text, step.String())
	}
	for says, texts := range map[string][]string{
		"is no step; want one such as":                     {"", "c1", "waits c1", "pause", "hang", "hang c1 AB", "cut AB c1", "ahead 1s A", "c1 waits A"},
		"is no verb, client, server or time":               {"c9 waits", "hang AX", "c1 waits waits"},
		"has a time; only slow, ahead and behind have one": {"hang A 1s"},
		"want more than 0 and up to a year":                {"ahead A -1s", "ahead A 8761h"},
	} {
		for _, text := range texts {
			_, err := ParseStep(text)
			assert.ErrorContains(t, err, says, text)
		}
	}
	var s Schedule
	require.NoError(t, json.Unmarshal([]byte(`["c1 waits", "hang AD"]`), &s))
	assert.Equal(t, []string{"c1"}, s.clients())
}

func TestCases(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for _, c := range Cases(n) {
			assert.Equal(t, serversFor(c.Fault, n), c.Servers)
			assert.Contains(t, Faults(), c.Fault)
		}
	}
	assert.Len(t, Cases(5), len(Cases(4)), "the even number is played on four of the five")
}

// A seed selects a schedule. Each ends with a client that gets the lock. No more than a minority is disturbed.
func TestDraw(t *testing.T) {
	for _, fault := range Faults() {
		for seed := range uint64(60) {
			s := draw(seed, fault, 5)
			assert.Equal(t, s, draw(seed, fault, 5))
			parsed, err := ParseSchedule(s.String(), 5)
			assert.NoError(t, err)
			assert.Equal(t, s, parsed)
			assert.Equal(t, releases, s[len(s)-1].Do)
			assert.LessOrEqual(t, len(s), 75)
			begun := 0
			for _, step := range s {
				assert.LessOrEqual(t, len(step.Servers), 2)
				if slices.Contains(faultNamed(fault).own, step.Do) {
					begun++
				}
			}
			assert.False(t, faultNamed(fault).once && begun > 1, s)
		}
	}
}

// recorded is the record of words such as "c1 asks, c1 has 5, c1 valid".
func recorded(t *testing.T, text string) record.Log {
	s := &stage{play: &Play{}}
	s.history = history{began: time.Now(), log: &s.play.Record}
	clients := map[string]*client{"c1": {name: "c1"}, "c2": {name: "c2"}}
	for step := range strings.SplitSeq(text, ", ") {
		words := strings.Fields(step + " 0")
		switch c := clients[words[0]]; words[1] {
		case "asks":
			s.asks(c, waits)
		case "has", "late":
			s.history.leases++
			_, err := fmt.Sscan(words[2], &c.token)
			require.NoError(t, err)
			c.leases, c.lease = c.leases+1, s.history.leases
			late := map[string]string{"late": "2.00s after its request, longer than the TTL of 1s"}
			s.of(c, record.Acquired, "", late[words[1]])
		case "valid":
			s.of(c, record.Looked, "", "").Validity = 1
		case "over":
			s.of(c, record.Released, findsOver, "")
		case "reads":
			s.reads(c)
		case "writes":
			s.executes(s.sends(c))
		}
	}
	return s.play.Record
}

func TestFindings(t *testing.T) {
	const both, second = "c1 asks, c2 asks, ", "c1 asks, c1 has, c2 asks"
	for text, want := range map[string][]Kind{
		"c1 asks, c1 has 5, c1 valid, c2 asks, c2 has 6":                      nil,
		second + ", c1 valid, c2 has":                                         nil,
		second + ", c2 has, c1 valid":                                         {TwoHolders},
		both + "c2 has, c1 has, c2 valid":                                     nil,
		both + "c2 has, c1 has, c1 over, c2 valid":                            nil,
		both + "c2 has, c1 has, c1 valid, c2 valid":                           {TwoHolders},
		both + "c2 has, c1 has, c2 valid, c1 valid":                           {TwoHolders},
		both + "c2 has, c2 valid, c1 has, c1 valid":                           nil,
		both + "c1 has 5, c2 has 5":                                           {TokenOrder},
		"c1 asks, c1 has 5, c2 asks, c2 has 4":                                {TokenOrder},
		both + "c1 has 5, c2 has 4":                                           nil,
		second + ", c1 reads, c2 has, c2 reads, c1 writes":                    {StaleWrite},
		second + ", c1 reads, c2 has, c2 reads, c2 writes, c1 writes":         {StaleWrite, LostUpdate},
		"c1 asks, c1 has 5, c1 reads, c2 asks, c2 has 6, c2 reads, c1 writes": nil, // it was refused
	} {
		log := recorded(t, text)
		assert.ElementsMatch(t, want, Play{Findings: findingsIn(log)}.kinds(), text)
	}
	late, lost := "c1 wrote too late: c2, with a later lease, had used the resource", "c1 wrote on top of a write of c2 that it had not read"
	used := second + ", c1 reads, c2 has, c2 reads, c2 writes, "
	assert.Equal(t, []Finding{{StaleWrite, 12, late}, {LostUpdate, 12, lost}}, findingsIn(recorded(t, used+"c1 writes")))
	late = strings.Replace(late, "too late", "while both held the lock", 1)
	assert.Equal(t, []Finding{
		{TwoHolders, 11, "c1 found its lease valid, though c2 had got the lock later"}, {StaleWrite, 13, late}, {LostUpdate, 13, lost},
	}, findingsIn(recorded(t, used+"c1 valid, c1 writes")))

	// A grant that came too late is what is wrong, and not the check that shows it.
	const over = "; c1 got it 2.00s after its request, longer than the TTL of 1s: counted from there, its lease was over"
	assert.Equal(t, []Finding{{TwoHolders, 4, "c2 found its lease valid, though c1 had got the lock later" + over}},
		findingsIn(recorded(t, both+"c2 has, c1 late, c1 valid, c2 valid")))
	assert.Equal(t, []Finding{{TwoHolders, 5, "c1 found its lease valid, though c2 had got the lock later" + over}},
		findingsIn(recorded(t, "c1 asks, c1 late, c2 asks, c2 has, c1 valid")))
}

// A schedule that lacks the steps of its fault shows another one.
func TestFaultOf(t *testing.T) {
	assert.True(t, isLimit("restart", LostUpdate), "late writes follow from two holders")
	assert.False(t, isLimit("hang", LostUpdate))
	for text, want := range map[string]string{
		"old data: save A, c1 waits, stop A, start A":            "old data",
		"old data: cut c1 B, c1 waits, stop A, start A":          "restart",
		"restart: c1 waits, stop A":                              "stop",
		"pause: hold c1 A, c1 begins":                            "network",
		"pause: c1 waits, c1 sends, c1 lands":                    "pause",
		"pause: c1 waits, c2 waits":                              noFault,
		"even number: c1 waits, stop A":                          evenNumber,
		"failover: follow A, lag A, c1 waits":                    noFault,
		"address: cut c1 B, c1 waits, move A, kill c2, c1 works": "address",
	} {
		fault, schedule, _ := strings.Cut(text, ": ")
		steps, err := ParseSchedule(schedule, 5)
		require.NoError(t, err)
		assert.Equal(t, want, steps.faultOf(fault), text)
	}
	for _, c := range Cases(5) { // a replay is compared with the same limits
		if len(Limits(c.Fault)) > 0 {
			assert.Equal(t, c.Fault, c.Schedule.faultOf(""), c.Title)
		}
	}
}

// A grant is too late if its answer took longer than a TTL, unless the client waited for the lock.
func TestGranted(t *testing.T) {
	left := 1483.2
	d := &clientProcess{asked: time.Unix(1, 0), came: time.Unix(2, 0)}
	assert.Equal(t, "with 1.483s left, 1.00s after its request", granted(d, driver.Answer{Left: &left}, time.Second))
	d.came = d.came.Add(10 * time.Millisecond)
	assert.Equal(t, "1.01s after its request, longer than the TTL of 1s", granted(d, driver.Answer{}, time.Second))
	d.waits = true
	assert.Equal(t, "1.01s after its request", granted(d, driver.Answer{}, time.Second))
}
