package live

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search/judge"
)

// finding is a violation in a history.
type finding struct {
	Kind record.ViolationKind `json:"kind"`
	// Seq is the entry that shows it.
	Seq  int    `json:"seq"`
	Text string `json:"text"`
}

// holding is one lease in a history.
type holding struct {
	who        string
	lease      int
	token      fencing.Token
	asked, got int // entries: the last before the request, and the grant
	ended      int // 0: not yet
	believed   int // the last entry before it last found its lease valid or used it
}

func (h *holding) String() string { return fmt.Sprintf("%s (token %d)", h.who, h.token) }

// after reports whether h is later than o, by tokens or else by the order of grants.
func (h *holding) after(o *holding) bool {
	switch {
	case h == nil:
		return false
	case h.token != 0 && o.token != 0:
		return h.token > o.token
	default:
		return h.got > o.got
	}
}

// checker processes a history.
type checker struct {
	holdings []*holding // in the order of grants
	places   map[leaseName]int
	tokens   map[fencing.Token]*holding
	highest  []*holding // highest[i] has the largest token of the first i+1 holdings
	latest   *holding   // the latest holder whose operation the resource executed
	findings []finding
	// requests: a refused request also counts as use of the lease, because its sender
	// believed to be the holder.
	requests bool
}

// leaseName names a lease.
type leaseName struct {
	who   string
	lease int
}

// findingsIn returns the violations in a history, of the kinds that can be detected outside
// the simulation.
func findingsIn(history []entry) []finding {
	r := newChecker()
	for _, e := range history {
		r.take(e)
	}
	return r.findings
}

func newChecker() *checker {
	return &checker{places: map[leaseName]int{}, tokens: map[fencing.Token]*holding{}}
}

func (r *checker) found(e entry, kind record.ViolationKind, format string, args ...any) {
	r.findings = append(r.findings, finding{Kind: kind, Seq: e.Seq, Text: fmt.Sprintf(format, args...)})
}

func (r *checker) take(e entry) {
	h := r.of(e)
	switch e.What {
	case wasAcquired:
		r.acquired(e)
	case wasValid:
		if h != nil {
			r.believes(e, h, "found its lease valid")
		}
	case wasOver, wasReleased:
		if h != nil && h.ended == 0 {
			h.ended = e.Seq
		}
	case wasKilled:
		for _, o := range r.holdings {
			if o.who == e.Who && o.ended == 0 {
				o.ended = e.Seq
			}
		}
	case wasRead, wasWritten:
		if h != nil {
			r.operated(e, h)
		}
	case wasStale:
		if h != nil && r.requests {
			r.believes(e, h, "sent a request, which was refused,")
		}
	case wasStarved:
		r.found(e, record.NoProgress, "%s: %s", e.Who, e.Words)
	case wasBlocked:
		r.found(e, record.NeverFree, "%s: %s", e.Who, e.Words)
	}
}

// of returns the lease of an entry, nil for none.
func (r *checker) of(e entry) *holding {
	if i, ok := r.places[leaseName{e.Who, e.Lease}]; ok {
		return r.holdings[i]
	}
	return nil
}

func (r *checker) acquired(e entry) {
	h := &holding{who: e.Who, lease: e.Lease, token: e.Token, asked: e.Began, got: e.Seq}
	if h.token != 0 {
		if same := r.tokens[h.token]; same != nil {
			r.found(e, record.TokenOrder, "%v and %v have the same token", same, h)
		}
		r.tokens[h.token] = h
		// The first n had the lock before h asked.
		n := sort.Search(len(r.holdings), func(i int) bool { return r.holdings[i].got > h.asked })
		if n > 0 && r.highest[n-1].token > h.token {
			r.found(e, record.TokenOrder, "%v got the lock after %v with a smaller token", h, r.highest[n-1])
		}
	}
	r.places[leaseName{h.who, h.lease}] = len(r.holdings)
	r.holdings = append(r.holdings, h)
	if n := len(r.highest); n > 0 && r.highest[n-1].token > h.token {
		r.highest = append(r.highest, r.highest[n-1])
	} else {
		r.highest = append(r.highest, h)
	}
}

// believes checks whether another client got the lock before this began.
func (r *checker) believes(e entry, h *holding, how string) {
	if h.ended == 0 {
		h.believed = max(h.believed, e.Began)
	}
	next := r.places[leaseName{h.who, h.lease}] + 1
	if next < len(r.holdings) && r.holdings[next].got <= e.Began {
		r.found(e, record.TwoHolders, "%v %s after %v had got the lock", h, how, r.holdings[next])
	}
}

func (r *checker) operated(e entry, h *holding) {
	r.believes(e, h, "sent a "+operation(e))
	if e.What == wasWritten {
		if r.latest.after(h) {
			r.found(e, record.StaleWrite, "%v wrote after %v had used the resource", h, r.latest)
		}
		if e.Version != e.Found {
			r.found(e, record.LostUpdate, "%v wrote as of version %d over version %d", h, e.Version, e.Found)
		}
	}
	if !r.latest.after(h) {
		r.latest = h
	}
}

func operation(e entry) string {
	if e.What == wasRead {
		return "read"
	}
	return "write"
}

// kindsOf returns the kinds of findings, sorted and each once.
func kindsOf(findings []finding) []record.ViolationKind {
	kinds := map[record.ViolationKind]bool{}
	for _, f := range findings {
		kinds[f.Kind] = true
	}
	return slices.Sorted(maps.Keys(kinds))
}

// operations converts a history for package judge. The time of an entry is its number.
func operations(history []entry) []judge.Operation {
	// An operation that began after an entry began before the next one.
	moment := func(seq int) time.Duration { return time.Duration(2 * seq) }
	r := newChecker()
	var all []judge.Operation
	var version uint64
	var value int64
	for _, e := range history {
		r.take(e)
		o := judge.Operation{Client: e.Who, Key: key, Call: moment(e.Began) + 1, Return: moment(e.Seq), Outcome: judge.Done, Token: e.Token, Version: e.Version, Value: e.Value}
		switch e.What {
		case wasAcquired:
			o.Kind = judge.Lock
			// Each lease is a separate client, because a client may get the lock again
			// without unlocking it.
			o.Client = fmt.Sprintf("%s/%d", e.Who, e.Lease)
			o.Version, o.Value = 0, 0
		case wasRead:
			o.Kind = judge.Read
		case wasWritten:
			o.Kind = judge.Write
			version, value = e.Found+1, e.Value
		default:
			continue
		}
		all = append(all, o)
	}
	last := len(history) + 1
	for _, h := range r.holdings {
		call := max(moment(h.got), moment(h.believed)+1)
		all = append(all, judge.Operation{
			Client: fmt.Sprintf("%s/%d", h.who, h.lease), Key: key, Kind: judge.Unlock, Outcome: judge.Done, Token: h.token,
			Call: call, Return: moment(last),
		})
	}
	// A final read shows writes that no client has read.
	return append(all, judge.Operation{Client: "observer", Key: key, Kind: judge.Read, Outcome: judge.Done, Call: moment(last), Return: moment(last), Version: version, Value: value, Token: fencing.MaxToken})
}
