package instance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Rights is what a user may not do on a server, in the words of an ACL: +incr for a command, ~orders:42 for
// a key, &redlock:wake:* for a channel. See Redis.Rights.
type Rights struct {
	// Missing are rights without which locks aren't granted, extended or released, or, for the mark's key,
	// restarts aren't noticed in time.
	Missing []string
	// MissingToNotify are rights without which waiters poll.
	MissingToNotify []string
	// Unchecked are rights that could not be checked, with the reason.
	Unchecked []string
}

// try is a command that the server is asked to put into a transaction.
type try struct {
	args   []any
	object string // the key or channel in args, as an ACL has it; empty if it doesn't matter
	notify bool   // only notifications need it
}

// Rights asks which of the rights that a lock needs the client's user lacks: to the commands, to the mark
// and to the keys of these locks. Without keys it asks only about commands and the mark.
//
// It changes nothing. It begins a transaction that can't succeed, because of a command without its
// arguments, and sends each command into it. The server checks the rights when it takes a command into a
// transaction, and carries out none of this one.
func (r *Redis) Rights(ctx context.Context, keys ...string) (Rights, error) {
	if ctx.Err() != nil {
		return Rights{}, contextEnded(ctx)
	}
	term := ""
	if d := r.deployment; d != nil {
		var err error
		if term, err = d.find(ctx); err != nil {
			return Rights{}, err
		}
	}
	conn := r.client.EphemeralConn()
	defer conn.Close() //nolint:errcheck // with it the transaction ends, if EXEC didn't end it
	var found Rights
	//guard:rights-change-nothing  nothing is sent into a transaction that could succeed
	multi, spoil, err := pair(ctx, conn, []any{"MULTI"}, []any{"GET"})
	switch {
	case err != nil:
		return found, explain(err)
	case multi != nil:
		found.note(try{args: []any{"MULTI"}}, multi)
		found.Unchecked = append(found.Unchecked, "all other rights, because the server refuses MULTI")
		return found, nil
	case spoil == nil:
		return found, fmt.Errorf("%w: GET without a key was not refused", ErrReply)
	}
	tries := append(r.tries(term, keys), try{args: []any{"EXEC"}})
	pipeline := conn.Pipeline()
	cmds := make([]*redis.Cmd, len(tries))
	for i, t := range tries {
		cmds[i] = pipeline.Do(ctx, t.args...)
	}
	_, _ = pipeline.Exec(ctx)
	for i, t := range tries {
		err := cmds[i].Err()
		if err != nil && !isReply(err) {
			return found, explain(err)
		}
		found.note(t, err)
	}
	return found, nil
}

// pair sends two commands. The error is that of the connection.
func pair(ctx context.Context, conn *redis.Conn, a, b []any) (first, second, err error) {
	pipeline := conn.Pipeline()
	one, two := pipeline.Do(ctx, a...), pipeline.Do(ctx, b...)
	_, _ = pipeline.Exec(ctx)
	for _, cmd := range []*redis.Cmd{one, two} {
		if cmd.Err() != nil && !isReply(cmd.Err()) {
			return nil, nil, cmd.Err()
		}
	}
	return one.Err(), two.Err(), nil
}

// note takes in the reply to a try.
func (f *Rights) note(t try, reply error) {
	if reply == nil {
		return
	}
	text := readable([]byte(reply.Error()))
	name := "+" + strings.ToLower(fmt.Sprint(t.args[0]))
	what := ""
	switch kind := kindOf(text); {
	case commandDenied(text): // also in EXEC's EXECABORT
		what = name
	case kind == ErrPermission:
		what = t.object
	case kind == ErrCommand:
		what = name + " (the server lacks the command)"
	case kind == ErrServer && !strings.HasPrefix(text, "EXECABORT"):
		if unchecked := fmt.Sprintf("%s (%s)", name, shortened(text)); !slices.Contains(f.Unchecked, unchecked) {
			f.Unchecked = append(f.Unchecked, unchecked)
		}
	}
	list := &f.Missing
	if t.notify {
		list = &f.MissingToNotify
	}
	if what != "" && !slices.Contains(f.Missing, what) && !slices.Contains(*list, what) {
		*list = append(*list, what)
	}
}

// tries are the commands of a lock, with all keys that each is sent with. Those that can fail on their own
// have bad arguments, although nothing is carried out.
func (r *Redis) tries(term string, keys []string) (tries []try) {
	object, notify := "", false
	add := func(args ...any) { tries = append(tries, try{args, object, notify}) }
	mark := r.markKey + term
	object = "~" + mark
	add("GET", mark)
	add("SET", mark, "", "NX", "XX")
	object = ""
	add("TIME")
	add("INFO", "replication")
	if r.cfg.Replicas > 0 {
		add("WAIT", 0, 1)
	}
	known := len(keys) > 0
	if !known {
		keys = []string{r.markKey} // whatever its right
	}
	names := func(key string) (lock, counter, queue string) {
		if known {
			return r.Key(key), r.Key(CounterKey(key)), r.Key(WaitersKey(key))
		}
		return key, key, key
	}
	about := func(key string) {
		if object = ""; known {
			object = "~" + key
		}
	}
	script := func(key string) {
		add("EVALSHA", releaseScript.sha, 1, key)
		add("EVAL", "return 0", 1, key)
	}
	for _, key := range keys {
		lock, counter, queue := names(key)
		about(lock)
		script(lock)
		add("SET", lock, "", "NX", "XX")
		add("GET", lock)
		add("GETRANGE", lock, 0, 0)
		add("MGET", lock)
		add("PTTL", lock)
		add("PEXPIRE", lock, "")
		add("EXISTS", lock)
		add("DEL", lock)
		about(counter)
		script(counter)
		add("SET", counter, "", "NX", "XX")
		add("GET", counter)
		add("PTTL", counter)
		add("PEXPIRE", counter, "")
		add("INCR", counter)
		notify = true
		about(queue)
		script(queue)
		add("EXISTS", queue)
		add("LRANGE", queue, 0, 0)
		add("LREM", queue, "", "")
		add("PEXPIRE", queue, "")
		add("LPOP", queue)
		add("LPUSH", queue, "")
		add("RPUSH", queue, "")
		notify = false
	}
	notify, object = true, "&"+channelPrefix+"*"
	channel := channelPrefix + "try"
	add("SUBSCRIBE", channel)
	add("PUBLISH", channel, "")
	object = ""
	add("PING")
	return tries
}
