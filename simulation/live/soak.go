//go:build unix

package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/search/judge"
)

// SoakOptions say how to soak.
type SoakOptions struct {
	// Binary and Args are as in Options.
	Binary string
	Args   []string
	// For is how long: at least MinSoak.
	For time.Duration
	// Seed draws the plan of faults, and Faults restricts their kinds. Default: all.
	Seed   uint64
	Faults []FaultKind
	// Progress, if not nil, is told of each fault when it is got over.
	Progress func(Suffered)
}

// MinSoak is the shortest soak.
const MinSoak = 5 * time.Second

// Suffered is a fault of the plan, and what came of it.
type Suffered struct {
	Fault
	// Skipped says why it was not done.
	Skipped string `json:"skipped,omitempty"`
	// Recovery is the time from its beginning to the next lock that anybody got, -1 if
	// nobody did before the soak was over.
	Recovery time.Duration `json:"recovery_ns"`
}

// String is one line: when and what, as in the plan, and what came of it.
func (s Suffered) String() string {
	text := fmt.Sprintf("%9.3fs  %-60s ", s.At.Seconds(), s.Fault)
	switch {
	case s.Skipped != "":
		return text + "skipped: " + s.Skipped
	case s.Recovery < 0:
		return text + "nobody got the lock any more"
	}
	return text + fmt.Sprintf("next lock after %v", s.Recovery.Round(time.Millisecond))
}

// SoakReport is what came of a soak.
type SoakReport struct {
	Server string        `json:"server"`
	Seed   uint64        `json:"seed"`
	For    time.Duration `json:"for_ns"`
	Faults []Suffered    `json:"faults"`
	// Ended says that it was not interrupted. Else Lasted and Faults end where it was,
	// the counts are those up to there, and nobody looked for keys that were left.
	Ended  bool          `json:"ended"`
	Lasted time.Duration `json:"lasted_ns"`

	// Acquisitions is how often the lock was had, Updates how many writes the resource
	// has carried out, Refusals how many reads and writes its guard has refused.
	Acquisitions int `json:"acquisitions"`
	Updates      int `json:"updates"`
	Refusals     int `json:"refusals"`
	// HandOffs is how many leases were handed off, Resumptions how many of these went on.
	HandOffs    int `json:"hand_offs"`
	Resumptions int `json:"resumptions"`
	// Strangers is how often a client with another MaxTTL was refused for that; Intruders
	// how often one got the lock, which must not be.
	Strangers int `json:"strangers"`
	Intruders int `json:"intruders"`
	// TwoHolders and TokenOrder count the violations of the lock, which such faults can
	// bring about; StaleWrites and LostUpdates those at the resource, which they
	// mustn't. Value is what the resource counted: as many as there were Updates.
	TwoHolders  int       `json:"two_holders"`
	TokenOrder  int       `json:"token_order"`
	StaleWrites int       `json:"stale_writes"`
	LostUpdates int       `json:"lost_updates"`
	Value       int64     `json:"value"`
	Findings    []Finding `json:"findings,omitempty"`
	// Judge is the second opinion on the resource.
	Judge string `json:"judge"`
	// KeysLeft is how many servers have the lock's key a TTL after the end.
	KeysLeft int `json:"keys_left"`
}

// OK says whether it ended, the resource came through, and nothing was left.
func (r SoakReport) OK() bool {
	return r.Ended && r.Intruders == 0 && r.StaleWrites == 0 && r.LostUpdates == 0 && r.KeysLeft == 0 && r.Acquisitions > 0 &&
		r.Value == int64(r.Updates) && r.Judge != judge.Broken.String() &&
		!slices.ContainsFunc(r.Faults, func(s Suffered) bool { return s.Skipped == "" && s.Recovery < 0 })
}

// Soak lets clients take a lock on five servers, and update what it protects, while
// the plan of Plan befalls them. The resource has a guard that admits tokens. When Soak
// returns, nothing that it started runs any more, and no file is left.
//
// The error Is ErrNoServer, or ctx's; a bad For is one as well. When ctx ends the Report
// has what there was until then.
func Soak(ctx context.Context, options SoakOptions) (report SoakReport, err error) {
	if options.For < MinSoak {
		return report, fmt.Errorf("live: a soak of %v is too short for anything to happen, want at least %v", options.For, MinSoak)
	}
	r, err := begin(Options{Binary: options.Binary, Args: options.Args})
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, r.end()) }()
	report = SoakReport{Seed: options.Seed, For: options.For}
	if report.Server, err = r.version(ctx); err != nil {
		return report, err
	}
	act := Act{Machine: true, TTL: soakTTL}
	_, noClocks := r.library()
	if noClocks != nil {
		act.Machine = false
	}
	part := Part{Design: "token-admit"}
	cfg, err := settings("", part.Design)
	if err != nil {
		return report, err
	}
	dir, err := os.MkdirTemp(r.dir, "soak-")
	if err != nil {
		return report, err
	}
	s := &stage{ctx: ctx, run: r, dir: dir, act: act, part: part, cfg: cfg, ttl: soakTTL}
	k := &soaking{s: s, options: options, report: &report, noClocks: noClocks, random: rand.New(rand.NewPCG(options.Seed, 0x74746c))}
	defer func() {
		p := recover()
		if ctx.Err() != nil {
			k.salvage()
		}
		err = errors.Join(err, s.close())
		k.all.Wait() // who listens to a client goes with it
		if end, ok := p.(stopped); ok {
			err = errors.Join(end.err, err)
		} else if p != nil {
			panic(p)
		}
	}()
	s.build()
	k.run()
	return report, nil
}

// soaking is one soak under way.
type soaking struct {
	s        *stage
	options  SoakOptions
	report   *SoakReport
	noClocks error
	began    time.Time
	random   *rand.Rand
	fronts   []*redisproc.Frontend // before each server, for some of the clients
	spares   [SoakServers]*server  // that addresses lead to at times

	mu   sync.Mutex
	crew []*hand
	got  []time.Time   // when the lock was had
	news chan struct{} // told of it, if there is room
	all  sync.WaitGroup
}

// hand is a client at work.
type hand struct {
	*actor
	ttl  time.Duration
	work *pending
	done chan struct{} // closed when it has answered, or is dead
}

func (k *soaking) run() {
	k.news = make(chan struct{}, 1)
	for _, v := range k.s.servers {
		front, err := redisproc.NewFrontend(v.Addr())
		k.s.must(err)
		k.s.closers = append(k.s.closers, func() { _ = front.Close() })
		k.fronts = append(k.fronts, front)
	}
	k.crew = make([]*hand, Crew)
	for i := range k.crew {
		k.replace(i, soakTTL)
	}
	k.began = time.Now()
	for _, fault := range Plan(k.options.Seed, k.options.For, k.options.Faults...) {
		k.sleepUntil(fault.At)
		suffered := k.suffer(fault)
		k.report.Faults = append(k.report.Faults, suffered)
		if k.options.Progress != nil {
			k.options.Progress(suffered)
		}
	}
	k.sleepUntil(k.options.For)
	k.report.Lasted = time.Since(k.began)
	k.finish()
	k.report.Ended = true
}

// salvage counts what there is of a soak that was interrupted.
func (k *soaking) salvage() {
	if k.began.IsZero() {
		return // nothing had begun
	}
	if k.report.Lasted = time.Since(k.began); k.report.Ended {
		return
	}
	defer func() {
		// What can't be read any more is missing, and the interruption is the error.
		if p := recover(); p != nil {
			if _, ok := p.(stopped); !ok {
				panic(p)
			}
		}
	}()
	k.read(k.s.history())
}

// replace puts another client in a place of the crew.
func (k *soaking) replace(place int, ttl time.Duration) {
	h := k.hire(place, ttl)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.crew[place] = h
}

// at gives the client at a place, nil while there is none yet.
func (k *soaking) at(place int) *hand {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.crew[place]
}

// proxied says which of the crew go through proxies that keep their connections.
func proxied(place int) bool { return place%2 == 1 }

// hire brings in a client, and puts it to work.
func (k *soaking) hire(place int, ttl time.Duration) *hand {
	how := entrance{resource: place == 0, ttl: ttl, maxTTL: soakMaxTTL, lifetime: connLifetime}
	if proxied(place) {
		how.front = func(i int) string { return k.fronts[i].Addr() }
	}
	a := k.s.enter(how)
	h := &hand{actor: a, ttl: ttl, done: make(chan struct{})}
	h.work = a.begin(request{Do: doSoak, Soak: &load{Seed: k.options.Seed, Hold: 100 * time.Millisecond, Rest: 20 * time.Millisecond}})
	k.all.Go(func() {
		defer close(h.done)
		for said := range h.work.answers {
			if said.Event == "" {
				return
			}
			if said.Cycle != nil && said.Cycle.Acquired {
				k.noticed()
			}
			if said.Cycle != nil && said.Cycle.Handle != "" {
				k.pass(said.Cycle)
			}
		}
	})
	return h
}

// pass brings a handle to whom it is for.
func (k *soaking) pass(c *cycle) {
	for _, to := range c.To {
		if h := k.at(to.Place); h != nil {
			h.tell(request{Do: doHandle, Handle: c.Handle, Patience: to.After})
		}
	}
}

// noticed is told that somebody got the lock.
func (k *soaking) noticed() {
	k.mu.Lock()
	k.got = append(k.got, time.Now())
	k.mu.Unlock()
	select {
	case k.news <- struct{}{}:
	default:
	}
}

func (k *soaking) sleepUntil(at time.Duration) { k.sleep(time.Until(k.began.Add(at))) }

func (k *soaking) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-k.s.ctx.Done():
		k.s.must(context.Cause(k.s.ctx))
	}
}

// suffer does a fault, ends it, and waits until somebody has the lock.
func (k *soaking) suffer(f Fault) Suffered {
	suffered := Suffered{Fault: f, Recovery: -1}
	if f.Kind == JumpClocks && k.noClocks != nil {
		suffered.Skipped = strings.TrimPrefix(k.noClocks.Error(), "live: ")
		return suffered
	}
	began := time.Now()
	mend := k.do(f)
	k.sleep(f.For)
	mend()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		if got, ok := k.firstAfter(began); ok {
			suffered.Recovery = got.Sub(began)
			return suffered
		}
		select {
		case <-k.news:
		case <-deadline.C:
			return suffered
		case <-k.s.ctx.Done():
			k.s.must(context.Cause(k.s.ctx))
		}
	}
}

// firstAfter is when the lock was first had after a moment.
func (k *soaking) firstAfter(moment time.Time) (time.Time, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := sort.Search(len(k.got), func(i int) bool { return k.got[i].After(moment) })
	if i == len(k.got) {
		return time.Time{}, false
	}
	return k.got[i], true
}

// do begins a fault, and gives what ends it.
func (k *soaking) do(f Fault) (mend func()) {
	var ends []func()
	for _, i := range f.Servers {
		if len(f.Clients) == 0 {
			ends = append(ends, k.hurtServer(f, k.s.servers[i]))
		}
	}
	if f.Kind == Stranger {
		k.admit()
	}
	for _, i := range f.Clients {
		ends = append(ends, k.hurtClient(f, i))
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

func (k *soaking) hurtServer(f Fault, v *server) (mend func()) {
	s := k.s
	switch f.Kind {
	case KillServers:
		v.Kill()
		return func() { s.must(v.Restart(s.ctx)) }
	case StopServers:
		s.must(v.Pause())
		return func() { s.must(v.Resume()) }
	case JumpClocks:
		v.machine.jump(f.By)
		return func() { v.machine.jump(-f.By) }
	case FlushServers:
		s.ask(v, "FLUSHALL")
	case AgeServers:
		s.ask(v, "SAVE")
		return func() {
			v.Kill()
			s.must(v.Restart(s.ctx))
			// The next one that is killed comes back empty again.
			if err := os.Remove(filepath.Join(v.Dir(), "dump.rdb")); !errors.Is(err, os.ErrNotExist) {
				s.must(err)
			}
		}
	case SwitchAddress:
		return k.lead(v, func(i int, to string) {
			k.fronts[i].Retarget(to)
			for place, h := range k.crew {
				if !proxied(place) {
					h.links[i].Switch(to)
				}
			}
		})
	case RetargetProxy:
		return k.lead(v, func(i int, to string) { k.fronts[i].Retarget(to) })
	}
	return func() {}
}

// lead leads what has a server's address to another one, which keeps its data for the
// next time, and gives what leads it back.
func (k *soaking) lead(v *server, to func(i int, addr string)) (back func()) {
	i := slices.Index(k.s.servers, v)
	if k.spares[i] == nil {
		k.spares[i] = k.s.startServer(v.name + "~")
	}
	to(i, k.spares[i].Addr())
	return func() { to(i, v.Addr()) }
}

// admit lets a client with another MaxTTL ask for the lock, until it is told what is wrong
// with it: while the lock is taken, or servers were restarted, there are other reasons to
// refuse it.
func (k *soaking) admit() {
	a := k.s.enter(entrance{ttl: soakTTL, maxTTL: soakMaxTTL + soakTTL})
	defer func() {
		a.kill()
		k.s.tell(Entry{Who: a.who, What: wasKilled, Key: key})
	}()
	for deadline := time.Now().Add(4 * soakMaxTTL); time.Now().Before(deadline); {
		said := a.begin(request{Do: doTry, Key: key}).await()
		switch {
		case said.OK:
			k.report.Intruders++
			return
		case strings.Contains(said.Why, quorum.ErrSetMismatch.Error()):
			k.report.Strangers++
			return
		}
		k.sleep(soakTTL / 20)
	}
}

func (k *soaking) hurtClient(f Fault, place int) (mend func()) {
	h := k.crew[place]
	gates := func(way redisproc.Way, gate redisproc.Gate) func() {
		for _, i := range f.Servers {
			h.links[i].Set(way, gate)
		}
		return func() {
			for _, i := range f.Servers {
				h.links[i].Mend()
			}
		}
	}
	switch f.Kind {
	case StopClients:
		h.pause()
		return h.cont
	case FreezeClient:
		return h.freeze().thaw
	case KillClients:
		h.die()
		<-h.done
		k.replace(place, h.ttl)
	case ChangeTTL:
		h.die()
		<-h.done
		k.replace(place, soakTTL/2+time.Duration(k.random.IntN(11))*(longestTTL-soakTTL/2)/10)
	case CutLinks:
		for _, i := range f.Servers {
			h.links[i].Cut()
		}
		return func() {
			for _, i := range f.Servers {
				h.links[i].Mend()
			}
		}
	case HoldReplies:
		return gates(redisproc.Replies, redisproc.Held)
	case LoseReplies:
		return gates(redisproc.Replies, redisproc.Shut)
	case HoldWrites:
		k.s.opsLink.Set(redisproc.Requests, redisproc.Held)
		return k.s.opsLink.Mend
	}
	return func() {}
}

// finish has everybody stop, and looks at what there is.
func (k *soaking) finish() {
	s, r := k.s, k.report
	for _, h := range k.crew {
		h.work.unleash()
	}
	for _, h := range k.crew {
		s.event(h.who+" has stopped", h.done)
	}
	for _, h := range k.crew {
		h.settle()
		h.ask(request{Do: doClose})
	}
	// Whatever is left of a client that was killed goes with the TTL.
	deadline := time.Now().Add(soakMaxTTL + time.Second)
	for {
		r.KeysLeft = 0
		for _, v := range s.servers {
			if s.has(v) {
				r.KeysLeft++
			}
		}
		if r.KeysLeft == 0 || time.Now().After(deadline) {
			break
		}
		k.sleep(20 * time.Millisecond)
	}
	k.read(s.history())
}

// read counts what the ledger has.
func (k *soaking) read(history []Entry) {
	r := k.report
	for _, e := range history {
		switch e.What {
		case wasAcquired:
			r.Acquisitions++
			if e.Words == resumed {
				r.Resumptions++
			}
		case wasReleased:
			if e.Words == handedOff {
				r.HandOffs++
			}
		case wasWritten:
			r.Updates++
			r.Value = e.Value
		case wasStale:
			r.Refusals++
		}
	}
	reading := newReading()
	reading.requests = true
	for _, e := range history {
		reading.take(e)
	}
	r.Findings = reading.findings
	for _, f := range r.Findings {
		switch f.Kind {
		case simulation.TwoHolders:
			r.TwoHolders++
		case simulation.TokenOrder:
			r.TokenOrder++
		case simulation.StaleWrite:
			r.StaleWrites++
		case simulation.LostUpdate:
			r.LostUpdates++
		}
	}
	onResource := slices.DeleteFunc(Operations(history), func(o judge.Operation) bool { return o.Kind == judge.Lock || o.Kind == judge.Unlock })
	verdict, err := judge.Check(onResource, 30*time.Second)
	k.s.must(err)
	r.Judge = verdict.Resource.String()
}

// WriteSoak writes a report as text, as Markdown or as JSON.
func WriteSoak(w io.Writer, r SoakReport, format string) error {
	switch format {
	case "text":
		_, err := fmt.Fprintf(w, "%s\n", r.Summary())
		return err
	case "markdown":
		return r.markdown(w)
	case "json":
		return writeJSON(w, r)
	default:
		return fmt.Errorf("live: no format %q; there are %s", format, strings.Join(Formats, ", "))
	}
}

// Summary is the report in some lines.
func (r SoakReport) Summary() string {
	var b strings.Builder
	if !r.Ended {
		fmt.Fprintf(&b, "INTERRUPTED after %v of %v. Only what happened until then is counted.\n", r.Lasted.Round(time.Second/10), r.For)
	}
	fmt.Fprintf(&b, "%s, %v, seed %d: %d faults.\n", r.Server, r.For, r.Seed, len(r.Faults))
	fmt.Fprintf(&b, "The lock was had %d times; %d updates were carried out, %d stale requests refused.\n", r.Acquisitions, r.Updates, r.Refusals)
	fmt.Fprintf(&b, "Of %d leases that were handed off %d went on; a client with another MaxTTL was refused %d times, and got the lock %d times.\n", r.HandOffs, r.Resumptions, r.Strangers, r.Intruders)
	fmt.Fprintf(&b, "At the lock: two holders %d times, tokens out of order %d times. Such faults can do that.\n", r.TwoHolders, r.TokenOrder)
	fmt.Fprintf(&b, "At the guarded resource: %d stale writes, %d lost updates; it counted to %d of %d. The second judge: %s.\n", r.StaleWrites, r.LostUpdates, r.Value, r.Updates, r.Judge)
	if worst, median, ok := r.recovery(); ok {
		fmt.Fprintf(&b, "The next lock came %v after a fault in the median, %v at worst.\n", median.Round(time.Millisecond), worst.Round(time.Millisecond))
	}
	if r.Ended {
		fmt.Fprintf(&b, "Keys left after a TTL: %d.", r.KeysLeft)
	} else {
		b.WriteString("Nobody looked for keys that were left.")
	}
	return b.String()
}

// recovery gives the longest and the median time to the next lock.
func (r SoakReport) recovery() (worst, median time.Duration, ok bool) {
	var all []time.Duration
	for _, s := range r.Faults {
		if s.Skipped == "" && s.Recovery >= 0 {
			all = append(all, s.Recovery)
		}
	}
	if len(all) == 0 {
		return 0, 0, false
	}
	slices.Sort(all)
	return all[len(all)-1], all[len(all)/2], true
}

func (r SoakReport) markdown(w io.Writer) error {
	var b strings.Builder
	summary := r.Summary()
	if !r.Ended {
		var heading string
		heading, summary, _ = strings.Cut(summary, "\n")
		fmt.Fprintf(&b, "%s\n\n", heading)
	}
	fmt.Fprintf(&b, "| at | fault | next lock after |\n| --- | --- | --- |\n")
	for _, s := range r.Faults {
		after := s.Recovery.Round(time.Millisecond).String()
		switch {
		case s.Skipped != "":
			after = "skipped: " + s.Skipped
		case s.Recovery < 0:
			after = "never"
		}
		fmt.Fprintf(&b, "| %v | %v | %s |\n", s.At, s.Fault, after)
	}
	fmt.Fprintf(&b, "\n%s\n", strings.ReplaceAll(summary, "\n", "\n\n"))
	_, err := io.WriteString(w, b.String())
	return err
}
