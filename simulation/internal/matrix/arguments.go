package matrix

import (
	"fmt"
	"slices"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/report"
)

// Arguments is the debate between Kleppmann and antirez of February 2016, point by point,
// with the result's evidence for each. Their statements are paraphrased.
func (r Result) Arguments() []report.Argument {
	sides := func(kleppmann, antirez string) []report.Side {
		return []report.Side{{Name: "Kleppmann", Words: kleppmann}, {Name: "antirez", Words: antirez}}
	}
	return []report.Argument{{
		ID: "pause", Claim: "A client is paused after it got the lock",
		Sides: sides("The holder is stopped, its lease runs out, another client gets the lock, and the first one writes when it wakes up.",
			"That is true of every lock that is released automatically."),
		Verdict: "Both are right.", Why: "It is true of every lock that expires. It is an argument for fencing tokens, not for or against Redlock.",
		Evidence: r.evidence(story("S1"), cellOf("default", "pause"), cellOf("token-admit", "pause"), chart("pause", "the longer the pause, the more often")),
	}, {
		ID: "tokens", Claim: "Redlock has no fencing tokens",
		Sides: sides("Its random value doesn't rise. Counters on several servers get out of step, so that tokens probably need consensus.",
			"A store that compares tokens can order the writes by itself, and for compare-and-set a unique value is enough."),
		Verdict:  "Kleppmann is right about Redlock as published, and too pessimistic about the rest.",
		Why:      "The largest of several counters is no token. But the majority that grants the lock can mint one in the same round trip: it rises as long as one server common to two majorities keeps its counter.",
		Evidence: r.evidence(story("S22"), story("S20"), cellOf("token-naive-max", "restart-empty"), cellOf("token-admit", "restart-empty")),
	}, {
		ID: "replies", Claim: "A client is paused before it reads the replies",
		Sides: sides("The replies wait in its sockets while the keys expire, and it believes in a lock that is gone.",
			"No: the algorithm looks at the clock again after the replies, and gives up."),
		Verdict: "antirez is right.", Why: "The time counts from before the first request. Designs that count from the reply break.",
		Evidence: r.evidence(story("S3"), cellOf("redlock", "delay"), cellOf("late-start", "delay")),
	}, {
		ID: "clock", Claim: "A server's clock jumps",
		Sides: sides("The clock of one server of a bare majority jumps forward, its key expires, and a second client gets a majority.",
			"True. Clocks must be slewed, not stepped, and Redis should use the monotonic clock."),
		Verdict: "Kleppmann is right, and antirez agrees.", Why: "Redis still expires keys by the wall clock. A client can watch the servers' clocks, and ignore the votes of a server whose clock has jumped.",
		Evidence: r.evidence(story("S4"), cellOf("redlock", "step-server"), cellOf("default", "step-server"), chart("rate", "how far clocks may run apart")),
	}, {
		ID: "restart", Claim: "A server restarts without the lock",
		Sides: sides("A server that crashes before the lock is on disk hands it out again. Delayed restarts depend on a clock, too.",
			"Waiting for longer than a lease needs little of a clock, and with a sync at each write nothing is forgotten."),
		Verdict: "Both are right; operators forget it.", Why: "Redlock as published breaks here unless restarts are delayed. Clients can do that themselves: they ignore a server's votes until every lease that it may have forgotten has expired.",
		Evidence: r.evidence(story("S7"), cellOf("redlock", "restart-empty"), cellOf("default", "restart-empty"), chart("crash", "how many servers have to forget")),
	}, {
		ID: "packets", Claim: "Packets are late",
		Sides: sides("Packets have been known to be late by more than a minute. Redlock needs a bound on delays.",
			"It doesn't: what passes between two looks at the clock is counted."),
		Verdict: "Both are right, about different packets.", Why: "A late reply of a lock server does no harm. A late write to the resource does, with any lock; only the resource can refuse it.",
		Evidence: r.evidence(story("S2"), cellOf("redlock", "delay"), cellOf("default", "delay-write"), cellOf("idempotent", "delay-write")),
	}, {
		ID: "tests", Claim: "It would not pass a test with faults",
		Sides: sides("Once its assumptions about time fail, so do its promises, and in practice they fail.",
			"It should be tested in this way, to have data."),
		Verdict:  "Kleppmann is right about the published algorithm. antirez is right that it takes certain faults.",
		Why:      "Pauses, lost data and clocks that jump break it. Lost and late messages, servers that hang and clients that die do not.",
		Evidence: r.evidence(cellOf("redlock", "pause"), cellOf("redlock", "restart-empty"), cellOf("redlock", "cut"), cellOf("redlock", "hang"), cellOf("redlock", "crash")),
	}, {
		ID: "need", Claim: "Five servers are too much for efficiency and too little for correctness",
		Sides: sides("For efficiency one Redis is enough. For correctness use consensus and fencing tokens, and let clocks decide only about progress.",
			"The model is one that real systems meet: clocks that run at about the same rate, and no bound on delays."),
		Verdict:  "It depends on what a double execution costs.",
		Why:      "If it costs little, take one Redis. If it does harm, let the resource check a token, here or with one Redis: a majority adds that a lost or restarted server neither stops you nor hands out the lock again. A lease from a consensus system expires by a clock, too.",
		Evidence: r.evidence(cellOf("setpx-cad", "restart-empty"), cellOf("setpx-cad", "failover"), cellOf("token-admit", "failover"), chart("availability", "when no lock can be had"), chart("failover", "failovers on one pair and on five")),
	}}
}

func story(id string) report.Evidence { return report.Evidence{Scenario: id} }
func cellOf(design, fault string) report.Evidence {
	return report.Evidence{Design: design, Fault: fault}
}
func chart(id, words string) report.Evidence { return report.Evidence{Curve: id, Text: words} }

// evidence describes results, without those that were not played.
func (r Result) evidence(list ...report.Evidence) []report.Evidence {
	verdicts := r.Verdicts()
	var shown []report.Evidence
	for _, e := range list {
		switch {
		case e.Curve != "":
			if r.Plan.CurveSeeds == 0 {
				continue
			}
			e.Text = "curve: " + e.Text
		case e.Scenario != "":
			played, broken := 0, 0
			for _, v := range verdicts {
				if v.Scenario == e.Scenario {
					played++
					if len(v.Seen) > 0 {
						broken++
					}
				}
			}
			if played == 0 {
				continue
			}
			e.Text = fmt.Sprintf("%s: breaks %d of %d designs", e.Scenario, broken, played)
		default:
			d, err := designs.ByName(e.Design)
			if err != nil || !slices.Contains(r.Plan.Faults, e.Fault) || !slices.Contains(r.Plan.Designs, e.Design) || r.of(ofCell, e.Fault, e.Design).Runs == 0 {
				continue
			}
			c := r.cell(e.Fault, d)
			e.Text = fmt.Sprintf("%s under %s: %s of %d", e.Design, e.Fault, c.Word(), c.Runs)
		}
		shown = append(shown, e)
	}
	return shown
}
