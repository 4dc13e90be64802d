package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation/bench/client"
)

// limits show what the servers can do: the fewest bytes and system calls with which a client can
// set and delete a key on five servers. This is no lock: a worker deletes whatever has the key.
func limits() []contender {
	return []contender{{
		name: "limit", note: "no lock: SET NX PX, then DEL, in pipelines of up to 64 written by hand, waiting for all", servers: 5,
		bulk: openLimit,
	}}
}

// inPipeline is how many workers share a pipeline at most.
const inPipeline = 64

// limit has a group of connections for each pipeline, which so many workers share.
type limit struct {
	groups []*pipelines
	each   int
}

// pipelines are the commands of some workers, and a connection to each server. The commands are
// always the same, so they are written once.
type pipelines struct {
	conns        []net.Conn
	set, delete  []byte
	isSet, isDel []byte // the replies if every key was free, and if every key was there
	replies      []byte
}

func openLimit(addrs []string, workers int) (bench, error) {
	l := &limit{each: workers / ((workers + inPipeline - 1) / inPipeline)}
	for first := 0; first+l.each <= workers; first += l.each {
		p := &pipelines{}
		l.groups = append(l.groups, p)
		for _, addr := range addrs {
			conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
			if err != nil {
				l.close()
				return nil, err
			}
			p.conns = append(p.conns, conn)
		}
		var set, del bytes.Buffer
		for w := range l.each {
			key := fmt.Sprintf("worker-%d", first+w)
			value := fmt.Sprintf("%040d", first+w) // as long as the others' random values
			command(&set, "SET", key, value, "NX", "PX", fmt.Sprint(ttl.Milliseconds()))
			command(&del, "DEL", key)
		}
		p.set, p.delete = set.Bytes(), del.Bytes()
		p.isSet, p.isDel = bytes.Repeat([]byte("+OK\r\n"), l.each), bytes.Repeat([]byte(":1\r\n"), l.each)
		p.replies = make([]byte, len(p.isSet))
	}
	return l, nil
}

// command writes a command as the servers read it.
func command(to *bytes.Buffer, words ...string) {
	fmt.Fprintf(to, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(to, "$%d\r\n%s\r\n", len(word), word)
	}
}

func (l *limit) close() {
	for _, p := range l.groups {
		for _, conn := range p.conns {
			_ = conn.Close()
		}
	}
}

// work has each group set and delete its keys again and again. A group ends with its first failure,
// because its replies are then of unknown length.
func (l *limit) work(ctx context.Context, _ int, long time.Duration) (cycles []time.Duration, failed int) {
	end := time.Now().Add(long)
	cycles, failed = client.Work(ctx, len(l.groups), long, func(group int, _ *rand.Rand) error {
		err := l.groups[group].cycle(end.Add(client.Patience))
		if err != nil {
			time.Sleep(time.Until(end))
		}
		return err
	})
	return slices.Repeat(cycles, l.each), failed * l.each
}

func (p *pipelines) cycle(deadline time.Time) error {
	for _, conn := range p.conns {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if err := p.send(p.set, p.isSet); err != nil {
		return err
	}
	return p.send(p.delete, p.isDel)
}

// send writes a pipeline to all servers, and checks the replies of all.
func (p *pipelines) send(commands, want []byte) error {
	for _, conn := range p.conns {
		if _, err := conn.Write(commands); err != nil {
			return err
		}
	}
	for _, conn := range p.conns {
		replies := p.replies[:len(want)]
		if _, err := io.ReadFull(conn, replies); err != nil {
			return err
		}
		if !bytes.Equal(replies, want) {
			return fmt.Errorf("%s answered %q", conn.RemoteAddr(), replies)
		}
	}
	return nil
}
