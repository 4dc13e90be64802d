package fault

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// Where says what a fault hits.
type Where string

// The places.
const (
	OnProcess Where = "process"
	OnServer  Where = "server"
	OnEither  Where = "either" // a process or a server
	OnLink    Where = "link"   // between a process and a server, or the resource
)

// Traits are what all faults of a kind have in common. The JSON form is for the page in a browser.
type Traits struct {
	Kind Kind `json:"kind"`
	// Title completes "the process", "the server" or "the connection".
	Title string `json:"title"`
	Where Where  `json:"where"`
	// Uses are the fields of a Fault, by their JSON names, that matter beside the kind, the
	// moment, the process and the server. Others must be empty. "nth" stands for op and nth: the
	// kind can happen at an operation.
	Uses []string `json:"uses"`
	// Example is a fault to begin with, without a moment, a process and a server.
	Example Fault `json:"example"`

	// MostPPM is the largest PPM. Signed: PPM and By may be negative.
	MostPPM int64 `json:"most_ppm"`
	Signed  bool  `json:"signed"`
	// Resource: it affects messages for a while, and the server may be the resource.
	Resource bool `json:"resource"`
	// Counter is the counter of record.Log.Counts for faults of the kind, "" if there is none.
	Counter string `json:"-"`
	// Stops: the process or the server stands still for For.
	Stops bool `json:"-"`
	// Text describes it in a timeline, after its subjects. In it {for} is the duration, {how} the
	// details in brackets, {by} and {gains} a field, and {on} the other ends of a link. Pictures show it
	// without {for} and {how}. End describes its end. A Crash has no text, because its event has one.
	Text, End string `json:"-"`
}

// beyondLease is longer than the default TTL.
const beyondLease = 12 * time.Second

// traits are those of all kinds.
var traits = []Traits{
	{
		Kind: Pause, Where: OnProcess, Title: "stops, as in a garbage collection; its clocks go on",
		Uses: strings.Fields("for_ns nth"), Example: Fault{For: beyondLease}, Stops: true,
		Text: "is PAUSED{for}", End: "runs again", Counter: "a process was paused",
	},
	{
		Kind: Suspend, Where: OnProcess, Title: "stops with its machine; the monotonic clock stands still",
		Uses: strings.Fields("for_ns nth frozen"), Example: Fault{For: beyondLease}, Stops: true,
		Text: "is SUSPENDED{for}{how}", End: "runs again", Counter: "a process was paused",
	},
	{
		Kind: Crash, Where: OnProcess, Title: "crashes; messages that it has sent still arrive",
		Uses: strings.Fields("nth"),
	},
	{
		Kind: Step, Where: OnEither, Title: "has its wall clock set to another time",
		Uses: strings.Fields("by_ns"), Example: Fault{By: beyondLease}, Signed: true,
		Text: ": clock JUMPS by {by}", Counter: "a clock was stepped",
	},
	{
		Kind: Rate, Where: OnEither, Title: "has a clock that runs too fast or too slow",
		Uses: strings.Fields("ppm"), Example: Fault{PPM: 100_000}, MostPPM: 500_000, Signed: true,
		Text: ": clock now {gains}",
	},
	{
		Kind: Restart, Where: OnServer, Title: "crashes, and starts again with what its disk has kept",
		Uses: strings.Fields("for_ns keep"), Example: Fault{For: 100 * time.Millisecond}, Stops: true,
		Text: ": DOWN{for} after a crash{how}", Counter: "a server was restarted",
	},
	{
		Kind: Hang, Where: OnServer, Title: "hangs; commands wait, and are executed afterwards",
		Uses: strings.Fields("for_ns"), Example: Fault{For: time.Second}, Stops: true,
		Text: ": HANG{for}", Counter: "a server hung",
	},
	{
		Kind: Failover, Where: OnServer, Title: "fails, and a replica takes over",
		Uses: strings.Fields("for_ns by_ns replica"), Example: Fault{For: 100 * time.Millisecond, By: time.Second}, Stops: true,
		Text: ": FAILOVER to a replica{how}", Counter: "a server failed over",
	},
	{
		Kind: Cut, Where: OnLink, Title: "loses all messages",
		Uses: strings.Fields("for_ns way"), Example: Fault{For: beyondLease}, Resource: true,
		Text: ": CUT OFF from {on}{for}{how}",
	},
	{
		Kind: Lose, Where: OnLink, Title: "loses some messages",
		Uses: strings.Fields("for_ns way ppm nth"), Example: Fault{For: beyondLease, PPM: 500_000}, MostPPM: 1_000_000, Resource: true,
		Text: ": messages with {on} LOST{for}{how}",
	},
	{
		Kind: Delay, Where: OnLink, Title: "delivers messages late",
		Uses: strings.Fields("for_ns by_ns way nth"), Example: Fault{For: beyondLease, By: time.Second}, Resource: true,
		Text: ": messages with {on} LATE{for}{how}",
	},
	{
		Kind: Reboot, Where: OnProcess, Title: "crashes, and starts again without its memory",
		Uses: strings.Fields("for_ns nth"), Example: Fault{For: time.Second}, Stops: true,
		Text: "CRASHES and is down{for}, then restarted", Counter: "a process was rebooted",
	},
	{
		Kind: Evict, Where: OnServer, Title: "drops a key, as a full memory does",
		Uses: strings.Fields("key"),
		Text: ": a key EVICTED",
	},
	{
		Kind: Flush, Where: OnServer, Title: "drops all data: FLUSHALL",
		Uses: []string{},
		Text: ": FLUSHED", Counter: "a server was flushed",
	},
	{
		Kind: Duplicate, Where: OnLink, Title: "delivers requests twice",
		Uses: strings.Fields("for_ns by_ns ppm nth"), Example: Fault{For: beyondLease, By: time.Second, PPM: 1_000_000}, MostPPM: 1_000_000, Resource: true,
		Text: ": requests to {on} TWICE{for}{how}",
	},
	{
		Kind: Reorder, Where: OnLink, Title: "delivers messages out of order",
		Uses: strings.Fields("for_ns by_ns way"), Example: Fault{For: beyondLease, By: 100 * time.Millisecond}, Resource: true,
		Text: ": messages with {on} REORDERED{for}{how}",
	},
	{
		Kind: Lag, Where: OnServer, Title: "sends its changes late to its replicas",
		Uses: strings.Fields("for_ns by_ns replica"), Example: Fault{For: time.Second},
		Text: ": replicas LAG{for}{how}",
	},
	{
		Kind: SplitBrain, Where: OnLink, Title: "leads to the old master, while the others use the replica that has taken over",
		Uses: strings.Fields("for_ns by_ns replica"), Example: Fault{For: beyondLease},
		Text: ": SPLIT{for}, a replica takes over{how}", End: ": old master demoted", Counter: "a server split in two",
	},
	{
		Kind: Switch, Where: OnLink, Title: "leads to another server, because the address has moved",
		Uses: strings.Fields("for_ns"), Example: Fault{For: beyondLease},
		Text: ": reaches ANOTHER server than {on}{for}", Counter: "an address was switched",
	},
}

// All are the traits of all kinds.
func All() []Traits {
	all := slices.Clone(traits)
	for i := range all {
		all[i].Example.Kind = all[i].Kind
	}
	return all
}

// Kinds are all kinds of faults.
func Kinds() []Kind {
	var kinds []Kind
	for _, t := range traits {
		kinds = append(kinds, t.Kind)
	}
	return kinds
}

// Traits are those of the fault's kind, or without a Kind if there is no such kind.
func (f Fault) Traits() Traits {
	if i := slices.IndexFunc(traits, func(t Traits) bool { return t.Kind == f.Kind }); i >= 0 {
		return traits[i]
	}
	return Traits{}
}

// Lasts reports whether faults of the kind have a duration.
func (t Traits) Lasts() bool { return slices.Contains(t.Uses, "for_ns") }

// OnLinks reports whether the fault affects messages for a while.
func (f Fault) OnLinks() bool { return f.Traits().Resource }

// Ignored are the fields that are set but don't matter for the kind, by their JSON names.
func (f Fault) Ignored() []string {
	text, _ := json.Marshal(f) // without the fields that aren't set
	set := map[string]any{}
	_ = json.Unmarshal(text, &set)
	for _, used := range append([]string{"kind", "at_ns", "op", "process", "server"}, f.Traits().Uses...) {
		delete(set, used)
	}
	return slices.Sorted(maps.Keys(set))
}
