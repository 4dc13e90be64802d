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
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/check"
	"github.com/redquorum/redlock/simulation/record"
)

// SoakOptions configure Soak.
type SoakOptions struct {
	// Binary is as in Options.
	Binary string
	// For is the duration, at least MinSoak.
	For time.Duration
	// Seed selects the plan of faults. Faults restricts their kinds. Default: all.
	Seed   uint64
	Faults []FaultKind
	// Progress, if not nil, is called after the recovery from each fault.
	Progress func(FaultResult)
}

// MinSoak is the shortest soak.
const MinSoak = 5 * time.Second

// FaultResult is a fault of the plan with its result.
type FaultResult struct {
	plannedFault
	// Skipped says why it was skipped.
	Skipped string `json:"skipped,omitempty"`
	// Recovery is the time from its beginning to the next acquisition, -1 if there was
	// none.
	Recovery time.Duration `json:"recovery_ns"`
}

// String returns one line: the fault as in the plan, and its result.
func (s FaultResult) String() string {
	text := fmt.Sprintf("%9.3fs  %-60s ", s.At.Seconds(), s.plannedFault)
	switch {
	case s.Skipped != "":
		return text + "skipped: " + s.Skipped
	case s.Recovery < 0:
		return text + "no lock after it"
	}
	return text + fmt.Sprintf("next lock after %v", s.Recovery.Round(time.Millisecond))
}

// soakReport is the result of a soak.
type soakReport struct {
	Server string        `json:"server"`
	Seed   uint64        `json:"seed"`
	For    time.Duration `json:"for_ns"`
	Faults []FaultResult `json:"faults"`
	// Ended: the soak was not interrupted. Otherwise Lasted, Faults and the counts end at
	// the interruption, and KeysLeft was not checked.
	Ended  bool          `json:"ended"`
	Lasted time.Duration `json:"lasted_ns"`

	// Acquisitions counts acquired locks, Updates executed writes, and Refusals the reads
	// and writes that the guard refused.
	Acquisitions int `json:"acquisitions"`
	Updates      int `json:"updates"`
	Refusals     int `json:"refusals"`
	// HandOffs counts leases that were handed off, Resumptions those that were resumed.
	HandOffs    int `json:"hand_offs"`
	Resumptions int `json:"resumptions"`
	// Strangers counts refusals of a client because of its other MaxTTL. Intruders counts
	// grants to such a client, which must not happen.
	Strangers int `json:"strangers"`
	Intruders int `json:"intruders"`
	// TwoHolders and TokenOrder count the violations of the lock, which such faults can
	// cause. StaleWrites and LostUpdates count those at the resource, which must not
	// happen. Value is the final count of the resource and must equal Updates.
	TwoHolders  int       `json:"two_holders"`
	TokenOrder  int       `json:"token_order"`
	StaleWrites int       `json:"stale_writes"`
	LostUpdates int       `json:"lost_updates"`
	Value       int64     `json:"value"`
	Findings    []finding `json:"findings,omitempty"`
	// KeysLeft counts the servers that have the lock's key one TTL after the end.
	KeysLeft int `json:"keys_left"`
}

// OK reports whether it ended without violations at the resource and without leftovers.
func (r soakReport) OK() bool {
	return r.Ended && r.Intruders == 0 && r.StaleWrites == 0 && r.LostUpdates == 0 && r.KeysLeft == 0 && r.Acquisitions > 0 &&
		r.Value == int64(r.Updates) &&
		!slices.ContainsFunc(r.Faults, func(s FaultResult) bool { return s.Skipped == "" && s.Recovery < 0 })
}

// Soak has clients acquire a lock on five servers and update a resource while the faults
// of Plan occur. The resource has a guard that admits tokens. Soak leaves no process and
// no file behind.
//
// The error Is errNoServer, or that of ctx, or reports a bad For. When ctx ends, the
// report has the results up to then.
func Soak(ctx context.Context, options SoakOptions) (report soakReport, err error) {
	if options.For < MinSoak {
		return report, fmt.Errorf("live: a soak of %v is too short, want at least %v", options.For, MinSoak)
	}
	r, err := begin(Options{Binary: options.Binary})
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, r.end()) }()
	report = soakReport{Seed: options.Seed, For: options.For}
	if report.Server, err = r.version(ctx); err != nil {
		return report, err
	}
	tc := Case{Machine: true}
	_, noClocks := r.library()
	if noClocks != nil {
		tc.Machine = false
	}
	const name = "token-admit"
	_, design, err := settings("", name)
	if err != nil {
		return report, err
	}
	cfg := design.Configure(simulation.Config{})
	dir, err := os.MkdirTemp(r.dir, "soak-")
	if err != nil {
		return report, err
	}
	s := &environment{ctx: ctx, run: r, dir: dir, tc: tc, design: name, cfg: cfg, ttl: soakTTL}
	k := &soakRun{env: s, options: options, report: &report, noClocks: noClocks, random: rand.New(rand.NewPCG(options.Seed, 0x74746c))}
	defer func() {
		p := recover()
		if ctx.Err() != nil {
			k.salvage()
		}
		err = errors.Join(err, s.close())
		k.all.Wait() // the goroutines that read from clients
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

// soakRun is a soak in progress.
type soakRun struct {
	env      *environment
	options  SoakOptions
	report   *soakReport
	noClocks error
	began    time.Time
	random   *rand.Rand
	fronts   []*redisproc.Frontend // proxies before the servers, for some of the clients
	standIns [soakServers]*server  // targets of switched addresses

	mu      sync.Mutex
	workers []*worker
	got     []time.Time   // when the lock was acquired
	news    chan struct{} // notified of acquisitions, if there is room
	all     sync.WaitGroup
}

// worker is a client in a soak.
type worker struct {
	*clientProcess
	ttl  time.Duration
	work *pending
	done chan struct{} // closed when it has answered or died
}

func (k *soakRun) run() {
	k.news = make(chan struct{}, 1)
	for _, v := range k.env.servers {
		front, err := redisproc.NewFrontend(v.Addr())
		k.env.must(err)
		k.env.closers = append(k.env.closers, func() { _ = front.Close() })
		k.fronts = append(k.fronts, front)
	}
	k.workers = make([]*worker, workers)
	for i := range k.workers {
		k.replace(i, soakTTL)
	}
	k.began = time.Now()
	for _, fault := range Plan(k.options.Seed, k.options.For, k.options.Faults...) {
		k.sleepUntil(fault.At)
		result := k.runFault(fault)
		k.report.Faults = append(k.report.Faults, result)
		if k.options.Progress != nil {
			k.options.Progress(result)
		}
	}
	k.sleepUntil(k.options.For)
	k.report.Lasted = time.Since(k.began)
	k.finish()
	k.report.Ended = true
}

// salvage counts the results of an interrupted soak.
func (k *soakRun) salvage() {
	if k.began.IsZero() {
		return // nothing had begun
	}
	if k.report.Lasted = time.Since(k.began); k.report.Ended {
		return
	}
	defer func() {
		// Unreadable results are missing. The interruption is the error.
		if p := recover(); p != nil {
			if _, ok := p.(stopped); !ok {
				panic(p)
			}
		}
	}()
	k.read(k.env.history())
}

// replace replaces a worker.
func (k *soakRun) replace(index int, ttl time.Duration) {
	h := k.startWorker(index, ttl)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.workers[index] = h
}

// at returns a worker by its index, nil if it has not started.
func (k *soakRun) at(index int) *worker {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.workers[index]
}

// proxied reports whether a worker connects through proxies that keep their connections.
func proxied(index int) bool { return index%2 == 1 }

// startWorker starts a client and its work.
func (k *soakRun) startWorker(index int, ttl time.Duration) *worker {
	how := clientOptions{resource: index == 0, ttl: ttl, maxTTL: soakMaxTTL, lifetime: connLifetime}
	if proxied(index) {
		how.front = func(i int) string { return k.fronts[i].Addr() }
	}
	a := k.env.startClient(how)
	h := &worker{clientProcess: a, ttl: ttl, done: make(chan struct{})}
	h.work = a.begin(request{Do: doSoak, Soak: &load{Seed: k.options.Seed, Hold: 100 * time.Millisecond, Rest: 20 * time.Millisecond}})
	k.all.Go(func() {
		defer close(h.done)
		for said := range h.work.answers {
			if said.Event == "" {
				return
			}
			if said.Cycle != nil && said.Cycle.Acquired {
				k.acquired()
			}
			if said.Cycle != nil && said.Cycle.Handle != "" {
				k.deliver(said.Cycle)
			}
		}
	})
	return h
}

// deliver sends a handle to its destinations.
func (k *soakRun) deliver(c *cycle) {
	for _, to := range c.To {
		if h := k.at(to.Worker); h != nil {
			h.trySend(request{Do: doHandle, Handle: c.Handle, Patience: to.After})
		}
	}
}

// acquired records an acquisition.
func (k *soakRun) acquired() {
	k.mu.Lock()
	k.got = append(k.got, time.Now())
	k.mu.Unlock()
	select {
	case k.news <- struct{}{}:
	default:
	}
}

func (k *soakRun) sleepUntil(at time.Duration) { k.sleep(time.Until(k.began.Add(at))) }

func (k *soakRun) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-k.env.ctx.Done():
		k.env.must(context.Cause(k.env.ctx))
	}
}

// runFault causes a fault, ends it, and waits for the next acquisition.
func (k *soakRun) runFault(f plannedFault) FaultResult {
	result := FaultResult{plannedFault: f, Recovery: -1}
	if f.Kind == jumpClocks && k.noClocks != nil {
		result.Skipped = strings.TrimPrefix(k.noClocks.Error(), "live: ")
		return result
	}
	began := time.Now()
	end := k.do(f)
	k.sleep(f.For)
	end()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		if got, ok := k.firstAfter(began); ok {
			result.Recovery = got.Sub(began)
			return result
		}
		select {
		case <-k.news:
		case <-deadline.C:
			return result
		case <-k.env.ctx.Done():
			k.env.must(context.Cause(k.env.ctx))
		}
	}
}

// firstAfter returns the first acquisition after a moment.
func (k *soakRun) firstAfter(moment time.Time) (time.Time, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := sort.Search(len(k.got), func(i int) bool { return k.got[i].After(moment) })
	if i == len(k.got) {
		return time.Time{}, false
	}
	return k.got[i], true
}

// do begins a fault. end ends it.
func (k *soakRun) do(f plannedFault) (end func()) {
	var ends []func()
	for _, i := range f.Servers {
		if len(f.Clients) == 0 {
			ends = append(ends, k.hitServer(f, k.env.servers[i]))
		}
	}
	if f.Kind == stranger {
		k.admit()
	}
	for _, i := range f.Clients {
		ends = append(ends, k.hitClient(f, i))
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

func (k *soakRun) hitServer(f plannedFault, v *server) (end func()) {
	s := k.env
	switch f.Kind {
	case killServers:
		v.Kill()
		return func() { s.must(v.Restart(s.ctx)) }
	case stopServers:
		s.must(v.Pause())
		return func() { s.must(v.Resume()) }
	case jumpClocks:
		v.machine.jump(f.By)
		return func() { v.machine.jump(-f.By) }
	case flushServers:
		s.ask(v, "FLUSHALL")
	case ageServers:
		s.ask(v, "SAVE")
		return func() {
			v.Kill()
			s.must(v.Restart(s.ctx))
			// The next restart comes back empty again.
			if err := os.Remove(filepath.Join(v.Dir(), "dump.rdb")); !errors.Is(err, os.ErrNotExist) {
				s.must(err)
			}
		}
	case switchAddress:
		return k.redirect(v, func(i int, to string) {
			k.fronts[i].Retarget(to)
			for index, h := range k.workers {
				if !proxied(index) {
					h.links[i].Switch(to)
				}
			}
		})
	case retargetProxy:
		return k.redirect(v, func(i int, to string) { k.fronts[i].Retarget(to) })
	}
	return func() {}
}

// redirect redirects a server's address to another server, which keeps its data until the next
// time. back undoes it.
func (k *soakRun) redirect(v *server, to func(i int, addr string)) (back func()) {
	i := slices.Index(k.env.servers, v)
	if k.standIns[i] == nil {
		k.standIns[i] = k.env.startServer(v.name + "~")
	}
	to(i, k.standIns[i].Addr())
	return func() { to(i, v.Addr()) }
}

// admit has a client with another MaxTTL ask for the lock until it is refused for that. A
// held lock or a restarted server are other reasons for refusals.
func (k *soakRun) admit() {
	a := k.env.startClient(clientOptions{ttl: soakTTL, maxTTL: soakMaxTTL + soakTTL})
	defer func() {
		a.kill()
		k.env.record(entry{Who: a.who, What: wasKilled, Key: key})
	}()
	for deadline := time.Now().Add(4 * soakMaxTTL); time.Now().Before(deadline); {
		said := a.begin(request{Do: doTry, Key: key}).await()
		switch {
		case said.OK:
			k.report.Intruders++
			return
		case strings.Contains(said.Why, wire.ErrSetMismatch.Error()):
			k.report.Strangers++
			return
		}
		k.sleep(soakTTL / 20)
	}
}

func (k *soakRun) hitClient(f plannedFault, index int) (end func()) {
	h := k.workers[index]
	links := func(disturb func(*redisproc.Link)) (end func()) {
		for _, i := range f.Servers {
			disturb(h.links[i])
		}
		return func() {
			for _, i := range f.Servers {
				h.links[i].Reopen()
			}
		}
	}
	switch f.Kind {
	case stopClients:
		h.pause()
		return h.cont
	case freezeClient:
		return h.freeze().thaw
	case killClients:
		h.die()
		<-h.done
		k.replace(index, h.ttl)
	case changeTTL:
		h.die()
		<-h.done
		k.replace(index, soakTTL/2+time.Duration(k.random.IntN(11))*(longestTTL-soakTTL/2)/10)
	case cutLinks:
		return links((*redisproc.Link).Cut)
	case holdReplies:
		return links(func(l *redisproc.Link) { l.Hold(redisproc.Replies) })
	case loseReplies:
		return links(func(l *redisproc.Link) { l.Drop(redisproc.Replies) })
	case holdWrites:
		k.env.opsLink.Hold(redisproc.Requests)
		return k.env.opsLink.Reopen
	}
	return func() {}
}

// finish stops all workers and counts the results.
func (k *soakRun) finish() {
	s, r := k.env, k.report
	for _, h := range k.workers {
		h.work.proceed()
	}
	for _, h := range k.workers {
		s.event(h.who+" has stopped", h.done)
	}
	for _, h := range k.workers {
		h.settle()
		h.ask(request{Do: doClose})
	}
	// Keys of killed clients expire after the TTL.
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

// read counts the entries of the ledger.
func (k *soakRun) read(history []entry) {
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
	r.Findings = findingsIn(history, check.Rules{Refusals: true})
	for _, f := range r.Findings {
		switch f.Kind {
		case record.TwoHolders:
			r.TwoHolders++
		case record.TokenOrder:
			r.TokenOrder++
		case record.StaleWrite:
			r.StaleWrites++
		case record.LostUpdate:
			r.LostUpdates++
		}
	}
}

// Write writes the report in one of Formats.
func (r soakReport) Write(w io.Writer, format string) error {
	return write(w, format, r.Summary, r.markdown, r)
}

// Summary is the report in some lines.
func (r soakReport) Summary() string {
	var b strings.Builder
	if !r.Ended {
		fmt.Fprintf(&b, "INTERRUPTED after %v of %v. Only what happened until then is counted.\n", r.Lasted.Round(time.Second/10), r.For)
	}
	fmt.Fprintf(&b, "%s, %v, seed %d: %d faults.\n", r.Server, r.For, r.Seed, len(r.Faults))
	fmt.Fprintf(&b, "The lock was acquired %d times; %d updates were executed, %d stale requests refused.\n", r.Acquisitions, r.Updates, r.Refusals)
	fmt.Fprintf(&b, "Of %d leases that were handed off, %d were resumed; a client with another MaxTTL was refused %d times, and got the lock %d times.\n", r.HandOffs, r.Resumptions, r.Strangers, r.Intruders)
	fmt.Fprintf(&b, "At the lock: two holders %d times, tokens out of order %d times. Such faults can cause that.\n", r.TwoHolders, r.TokenOrder)
	fmt.Fprintf(&b, "At the guarded resource: %d stale writes, %d lost updates; it counted to %d of %d.\n", r.StaleWrites, r.LostUpdates, r.Value, r.Updates)
	if worst, median, ok := r.recovery(); ok {
		fmt.Fprintf(&b, "The next lock came %v after a fault in the median, %v at worst.\n", median.Round(time.Millisecond), worst.Round(time.Millisecond))
	}
	if r.Ended {
		fmt.Fprintf(&b, "Keys left after a TTL: %d.", r.KeysLeft)
	} else {
		b.WriteString("Leftover keys were not checked.")
	}
	return b.String()
}

// recovery returns the longest and the median time to the next lock.
func (r soakReport) recovery() (worst, median time.Duration, ok bool) {
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

func (r soakReport) markdown() string {
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
		fmt.Fprintf(&b, "| %v | %v | %s |\n", s.At, s.plannedFault, after)
	}
	return b.String() + "\n" + strings.ReplaceAll(summary, "\n", "\n\n")
}
