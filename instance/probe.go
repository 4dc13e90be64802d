package instance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// maxInfo is the longest answer to a part of a Probe, in bytes.
const maxInfo = 1 << 20

// question is one part of a Probe: what is asked, and what it is for, in words
// for Identity.Hidden.
type question struct {
	args []any
	form form
	hide string
}

// The parts of a Probe, by their place in questions.
const (
	askServer = iota
	askReplication
	askMemory
	askPersistence
	askFsync
	askSave
	askTime
	askCommands
	askMark
)

// questions are read-only, but for the last one, which is a script: it writes a key of its
// own where there is none (see mark.lua). One section an INFO: servers before 7.0 take no
// more.
var questions = [...]question{
	askServer:      {[]any{"INFO", "server"}, isText, "run id, uptime and version"},
	askReplication: {[]any{"INFO", "replication"}, isText, "role and replication ID"},
	askMemory:      {[]any{"INFO", "memory"}, isText, "eviction policy"},
	askPersistence: {[]any{"INFO", "persistence"}, isText, "persistence"},
	askFsync:       {[]any{"CONFIG", "GET", "appendfsync"}, isTable, "appendfsync"},
	askSave:        {[]any{"CONFIG", "GET", "save"}, isTable, "save"},
	askTime:        {[]any{"TIME"}, isPair, "clock"},
	askCommands:    {[]any{"COMMAND", "INFO", probed[0], probed[1], probed[2], probed[3]}, isTable, "which commands it has"},
	askMark:        {[]any{"EVAL"}, nil, "since when clients have come to it by this name"},
}

// Probe asks the server who it is, as wire.Instance says, and with
// DialectAuto which commands it has. All is asked on one connection, so the
// answers are one server's; a Probe fails if a proxy mixed those of two. If the server is a master, Probe leaves the mark there that
// MarkKey is the key of, unless there is one; it needs no right to that.
func (r *Redis) Probe(ctx context.Context, before wire.Known) (wire.Identity, error) {
	if ctx.Err() != nil {
		return wire.Identity{}, contextEnded(ctx, nil)
	}
	c := r.newCall(wire.Request{})
	c.probing, c.before = true, before
	if err := r.wait(ctx, c); err != nil {
		return wire.Identity{}, err
	}
	defer r.recycle(c)
	id := wire.Identity{Uptime: -time.Second, Served: -time.Second}
	if err := r.identify(&id, c.answers); err != nil {
		return wire.Identity{}, err
	}
	return id, nil
}

// wait has a Probe's call carried out and waits for it. With an error the call is left to
// the collector.
func (r *Redis) wait(ctx context.Context, c *call) error {
	told := make(votes, 1)
	c.to = told
	c.deadline, _ = ctx.Deadline()
	if vote, ok := r.pipe.enter(c); !ok {
		return vote.Err
	}
	select {
	case vote := <-told:
		return vote.Err
	case <-ctx.Done():
	}
	if !r.pipe.giveUp(c) {
		return (<-told).Err // it is being told
	}
	return r.pipe.ended(ctx)
}

// votes is a Receiver that has room for the votes it is given.
type votes chan wire.Vote

func (v votes) Receive(vote wire.Vote) { v <- vote }

// identify reads the answers of a Probe. Pure but for the dialect.
func (r *Redis) identify(id *wire.Identity, asks []ask) error {
	p := &probe{id: id, asks: asks}
	for i := range asks {
		if text, bad := asks[i].sink.failure(); bad && i != askMark && !isHidden(i, text) {
			return serverError(text)
		}
	}
	p.server()
	p.role()
	p.memory()
	if err := p.persistence(); err != nil {
		return err
	}
	p.clock()
	p.mark()
	if p.err != nil {
		return p.err
	}
	r.mute.Store(false)
	if r.cfg.Dialect == DialectAuto {
		r.speak(p.dialect())
	} else {
		r.speak(r.cfg.Dialect)
	}
	if p.err != nil {
		return p.err
	}
	id.Dialect = r.spoken()
	id.Vouched = id.RunID != "" && id.RunID == r.cfg.VouchedRunID
	return nil
}

// isHidden reports whether an error answer to a part says that the server won't tell, as
// opposed to can't now. Servers that don't know a command say so in words of
// their own, which have no kind.
//
// Invariant: a run is hidden only by a server that says so. What a proxy answers while its
// server is away has no kind either, and the server that comes back isn't known.
func isHidden(part int, text string) bool {
	switch kindOf(text) {
	case ErrPermission, ErrCommand:
		return true
	case ErrServer:
		//guard:hidden-is-said  a run counts as hidden only if the server says that it hides it
		return part != askServer && part != askReplication && part != askMark || strings.Contains(text, "not supported")
	}
	return false
}

// errMixed is the failure of a Probe whose answers aren't one server's.
var errMixed = errors.New("instance: the answers come from two servers, or from two runs of one server")

func orNone(id string) string { return cmp.Or(id, "none") }

// probe reads the answers into an Identity. err is the first that can't be read.
type probe struct {
	id   *wire.Identity
	asks []ask
	err  error
}

// hide lists a part that the server would not tell.
func (p *probe) hide(part int, why string) {
	p.id.Hidden = append(p.id.Hidden, questions[part].hide+": "+why)
}

// told gives the answer to a part, unless it is hidden.
func (p *probe) told(part int) (*reply, bool) {
	s := &p.asks[part].sink
	if text, bad := s.failure(); bad {
		p.hide(part, text)
		return nil, false
	}
	return &reply{rest: s.raw}, true
}

func (p *probe) garbled(part int) {
	p.fail(fmt.Errorf("%w: %v answered %.60q", ErrReply, questions[part].args, p.asks[part].sink.raw))
}

func (p *probe) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// info gives the fields of an INFO section.
func (p *probe) info(part int) (map[string]string, bool) {
	r, ok := p.told(part)
	if !ok {
		return nil, false
	}
	text := r.text()
	if !r.end() {
		p.garbled(part)
		return nil, false
	}
	// An answer to another question would pass for a server that hides things.
	title, _, _ := strings.Cut(string(text), "\r\n")
	if name, titled := strings.CutPrefix(title, "# "); titled && !strings.EqualFold(name, questions[part].args[1].(string)) {
		p.garbled(part)
		return nil, false
	}
	fields := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			fields[name] = value
		}
	}
	return fields, true
}

// config gives one value of CONFIG GET.
func (p *probe) config(part int) (string, bool) {
	r, ok := p.told(part)
	if !ok {
		return "", false
	}
	switch r.array() {
	case 0:
		if r.end() {
			p.hide(part, "the server has no such setting")
			return "", false
		}
	case 2:
		r.text()
		if value := string(r.text()); r.end() {
			return value, true
		}
	}
	p.garbled(part)
	return "", false
}

func (p *probe) server() {
	fields, ok := p.info(askServer)
	if !ok {
		return
	}
	id := p.id
	id.RunID = fields["run_id"]
	if id.RunID == "" {
		p.hide(askServer, "INFO has no run_id")
	}
	if n, err := strconv.ParseInt(fields["uptime_in_seconds"], 10, 32); err == nil && n >= 0 {
		// The server takes the second of its start off the present second, both
		// without their fractions: that is up to a second more than it has been up.
		id.Uptime = time.Duration(max(0, n-1)) * time.Second
	} else {
		p.hide(askServer, "INFO has no uptime_in_seconds")
	}
	// A server in compatibility mode tells Redis's version beside its own.
	id.Server, id.Version = fields["server_name"], fields["redis_version"]
	if id.Server == "" && id.Version != "" {
		id.Server = "redis"
	}
	if version := fields["valkey_version"]; version != "" {
		id.Server, id.Version = "valkey", version
	}
	for _, field := range []string{"redis_mode", "server_mode"} { // Redis's, Valkey's
		switch fields[field] {
		case "sentinel":
			id.Role = wire.RoleSentinel
		case "cluster":
			id.Role = wire.RoleCluster
		}
	}
}

func (p *probe) role() {
	fields, ok := p.info(askReplication)
	if !ok {
		return
	}
	if p.id.Role == "" {
		p.id.Role = fields["role"]
	}
	if p.id.Role == "" {
		p.hide(askReplication, "INFO has no role")
	}
	if p.id.ReplID = fields["master_replid"]; p.id.ReplID == "" {
		p.hide(askReplication, "INFO has no master_replid")
	}
	// The second one is the history that the server took up, at a promotion or from its
	// file at a restart. It is zeros if there is none.
	p.id.Promoted = strings.Trim(fields["master_replid2"], "0") != ""
}

func (p *probe) memory() {
	fields, ok := p.info(askMemory)
	if !ok {
		return
	}
	if p.id.Eviction = fields["maxmemory_policy"]; p.id.Eviction == "" {
		p.hide(askMemory, "INFO has no maxmemory_policy")
	}
}

func (p *probe) persistence() error {
	fsync, fsyncTold := p.config(askFsync)
	save, saveTold := p.config(askSave)
	fields, ok := p.info(askPersistence)
	if !ok {
		return nil
	}
	if fields["loading"] == "1" {
		return serverError("LOADING the server says so in INFO persistence")
	}
	switch {
	case fields["aof_enabled"] == "1" && fsyncTold:
		p.id.Persistence = "aof " + fsync
	case fields["aof_enabled"] == "0" && saveTold && save != "":
		p.id.Persistence = "rdb"
	case fields["aof_enabled"] == "0" && saveTold:
		p.id.Persistence = "none"
	case fields["aof_enabled"] == "":
		p.hide(askPersistence, "INFO has no aof_enabled")
	}
	return nil
}

func (p *probe) clock() {
	r, ok := p.told(askTime)
	if !ok {
		return
	}
	if r.array() == 2 {
		if p.id.Clock = r.clock(); r.end() {
			return
		}
	}
	p.id.Clock = time.Time{}
	p.garbled(askTime)
}

// mark reads how long the name is known to have led to this run of the server, and the
// run's epoch.
func (p *probe) mark() {
	s := &p.asks[askMark].sink
	if text, bad := s.failure(); bad {
		switch kindOf(text) {
		//guard:no-mark-no-trust  a server on which no mark can be left now is not trusted because of that
		case ErrOutOfMemory, ErrMisconf, wire.ErrNotMaster:
			// There is no mark, and none can be written now. Nor can votes be given, and
			// when they can, a client must not count them sooner than with a mark.
			p.id.Served = 0
		default:
			// What is no master doesn't vote, mark or not.
			if !isHidden(askMark, text) && (p.id.Role == "" || p.id.Role == wire.RoleMaster) {
				p.fail(serverError(text))
				return
			}
			text, _, _ = strings.Cut(text, " script: ") // where in it
			p.hide(askMark, text)
		}
		return
	}
	a, ok := decodeScript(s.raw)
	switch {
	case !ok || a.outcome > scriptGranted:
		p.garbled(askMark)
	case a.outcome == scriptRefused:
		// A replica.
	default:
		runID, run, _ := strings.Cut(string(a.text), "/")
		replID, epoch, _ := strings.Cut(run, "@")
		// Invariant: an Identity is of one server in one run. The answers are those of
		// several requests, between which a proxy may turn to another server; the script's
		// alone are one step.
		//guard:probe-of-one-server  all answers to a probe come from one server
		if p.id.RunID != "" && runID != p.id.RunID || p.id.ReplID != "" && replID != p.id.ReplID {
			p.fail(fmt.Errorf("%w: INFO told the run ID %.8s and the replication ID %.8s, and a script the run ID %.8s and the replication ID %.8s; it is asked again",
				errMixed, orNone(p.id.RunID), orNone(p.id.ReplID), orNone(runID), orNone(replID)))
			return
		}
		p.id.Served = time.Duration(min(a.token, math.MaxInt64/1000)) * time.Microsecond
		p.id.Epoch = epoch
	}
}

// dialect reads which commands the server has. On any doubt it is none of them.
func (p *probe) dialect() Dialect {
	r, ok := p.told(askCommands)
	if !ok {
		return DialectLua
	}
	if r.array() != len(probed) {
		return DialectLua
	}
	var has [len(probed)]bool
	for i := range has {
		// An unknown command is null, or an empty array in some servers.
		empty := strings.HasPrefix(string(r.rest), "*0\r\n")
		has[i] = !r.skip(16) && !empty
	}
	if !r.end() {
		return DialectLua
	}
	return detect(has)
}
