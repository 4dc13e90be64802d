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
	cmd    *redis.Cmd
	object string // the key or channel in it, as an ACL has it; empty if it doesn't matter
	notify bool   // only notifications need it
}

// newTry makes a try of a command, in which KEY stands for a key.
func newTry(command, key string) *try {
	var args []any
	for word := range strings.FieldsSeq(command) {
		if word == "KEY" {
			word = key
		}
		args = append(args, word)
	}
	return &try{cmd: redis.NewCmd(context.Background(), args...)}
}

// Rights finds the rights that a lock needs and the client's user lacks: to the commands, to the
// mark and to the keys of these locks. Without keys it asks only about commands and the mark.
//
// It changes nothing. It begins a transaction that can't succeed, because one command lacks its
// arguments, and queues each command in it. The server checks the rights when it queues a
// command, and carries out none of this transaction.
func (r *Redis) Rights(ctx context.Context, keys ...string) (Rights, error) {
	// A server that doesn't let the user in would refuse MULTI, too.
	l, err := r.pipe.connect(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = contextEnded(ctx)
		}
		return Rights{}, err
	}
	conn := l.conn
	defer conn.Close() //nolint:errcheck // with it the transaction ends, if EXEC didn't end it
	var found Rights
	// The transaction can't succeed, because GET without a key aborts it.
	multi, spoil := newTry("MULTI", ""), newTry("GET", "")
	if err := send(ctx, conn, multi, spoil); err != nil {
		return found, err
	}
	switch {
	case multi.cmd.Err() != nil:
		found.note(multi)
		found.Unchecked = append(found.Unchecked, "all other rights, because the server refuses MULTI")
		return found, nil
	case spoil.cmd.Err() == nil:
		return found, fmt.Errorf("%w: GET without a key was not refused", ErrReply)
	}
	tries := append(r.tries(l.x.markKey, keys), newTry("EXEC", ""))
	if err := send(ctx, conn, tries...); err != nil {
		return found, err
	}
	for _, t := range tries {
		found.note(t)
	}
	return found, nil
}

// send sends tries. The error is that of the connection.
func send(ctx context.Context, conn *redis.Conn, tries ...*try) error {
	pipeline := conn.Pipeline()
	for _, t := range tries {
		_ = pipeline.Process(ctx, t.cmd)
	}
	if _, err := pipeline.Exec(ctx); err != nil && !isReply(err) {
		return explain(err)
	}
	return nil
}

// note takes in the reply to a try.
func (f *Rights) note(t *try) {
	reply := t.cmd.Err()
	if reply == nil {
		return
	}
	text := readable([]byte(reply.Error()))
	name := "+" + t.cmd.Name()
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

// The commands of a lock, by the key with which each is sent. Those that can fail on their own have bad
// arguments, although nothing is carried out.
const (
	ofMark    = "GET KEY; SET KEY x NX XX"
	ofAll     = "TIME; INFO replication"
	ofScripts = "EVALSHA 0 1 KEY; EVAL return 1 KEY; "
	ofCounter = ofScripts + "SET KEY x NX XX; GET KEY; PTTL KEY; PEXPIRE KEY x; INCR KEY"
	ofLock    = ofScripts + "SET KEY x NX XX; GET KEY; GETRANGE KEY 0 0; MGET KEY; PTTL KEY; PEXPIRE KEY x; EXISTS KEY; DEL KEY"
	ofQueue   = ofScripts + "EXISTS KEY; LRANGE KEY 0 0; LREM KEY x x; PEXPIRE KEY x; LPOP KEY; LPUSH KEY x; RPUSH KEY x"
	ofChannel = "SUBSCRIBE KEY; PUBLISH KEY x"
)

// tryKey is a key that nobody sets.
const tryKey = markPrefix + "try"

// tries are the commands of locks with these keys. Without keys the rights to them don't matter.
func (r *Redis) tries(markKey string, keys []string) (tries []*try) {
	add := func(commands, key, object string, notify bool) {
		for command := range strings.SplitSeq(commands, "; ") {
			t := newTry(command, key)
			t.object, t.notify = object, notify
			tries = append(tries, t)
		}
	}
	add(ofMark, markKey, "~"+markKey, false)
	add(ofAll, "", "", false)
	if r.cfg.Replicas > 0 {
		add("WAIT 0 1", "", "", false)
	}
	if len(keys) == 0 {
		add(ofCounter, tryKey, "", false)
		add(ofLock, tryKey, "", false)
		add(ofQueue, tryKey, "", true)
	}
	for _, key := range keys {
		lock, counter, queue := r.Key(key), r.Key(CounterKey(key)), r.Key(WaitersKey(key))
		add(ofLock, lock, "~"+lock, false)
		add(ofCounter, counter, "~"+counter, false)
		add(ofQueue, queue, "~"+queue, true)
	}
	add(ofChannel, channelPrefix+"try", "&"+channelPrefix+"*", true)
	add("PING", "", "", true)
	return tries
}
