//go:build unix

package recipes_test

import (
	"bufio"
	"database/sql"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
)

// Each program does what it says, as several processes on real servers.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute: the first lock on new servers waits for MaxTTL")
	}
	p := &programs{folder: t.TempDir()}
	for _, s := range instancetest.StartN(t, 3, instancetest.Config{}) { // skips the test where there is no redis-server
		p.urls = append(p.urls, "redis://"+s.Addr())
	}
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", p.folder, "./cron", "./leader", "./migration", "./pool", "./transfer").CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Run("cron", p.testCron)
	t.Run("leader", p.testLeader)
	t.Run("migration and pool", p.testPool)
	t.Run("transfer", p.testTransfer)
}

// programs are the built programs, and the servers' URLs.
type programs struct {
	folder string
	urls   []string
}

// crew are processes that were started, and their lines.
type crew struct {
	t       *testing.T
	lines   chan line
	members []*member
}

type line struct {
	by   *member
	text string
}

type member struct {
	*exec.Cmd
	errors strings.Builder
	read   sync.WaitGroup // its output, to the end
	killed bool
}

func newCrew(t *testing.T) *crew {
	t.Helper()
	c := &crew{t: t, lines: make(chan line, 1<<16)}
	t.Cleanup(func() {
		for _, m := range c.members {
			_ = m.Process.Kill() // those that a failed test has left
		}
	})
	return c
}

func (c *crew) start(p *programs, program string, args ...string) *member {
	c.t.Helper()
	m := &member{Cmd: exec.Command(filepath.Join(p.folder, program), append(args, p.urls...)...)}
	m.Stderr = &m.errors
	stdout, err := m.StdoutPipe()
	require.NoError(c.t, err)
	require.NoError(c.t, m.Start())
	c.members = append(c.members, m)
	m.read.Go(func() {
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			c.lines <- line{m, scanner.Text()}
		}
	})
	return m
}

// next waits for a line.
func (c *crew) next() line {
	c.t.Helper()
	select {
	case l := <-c.lines:
		return l
	case <-time.After(2 * time.Minute):
		for _, m := range c.members {
			c.t.Log(m.Args, m.errors.String())
		}
		c.t.Fatal("no process says anything")
		return line{}
	}
}

// kill kills a process, and waits for it.
func (c *crew) kill(m *member) {
	c.t.Helper()
	m.killed = true
	require.NoError(c.t, m.Process.Kill())
	m.read.Wait()
	require.Error(c.t, m.Wait())
}

// end tells all processes to end, and waits for them.
func (c *crew) end() {
	c.t.Helper()
	for _, m := range c.members {
		if !m.killed {
			assert.NoError(c.t, m.Process.Signal(syscall.SIGTERM))
		}
	}
	c.wait()
}

// wait waits until all processes have ended, without an error.
func (c *crew) wait() {
	c.t.Helper()
	for _, m := range c.members {
		if !m.killed {
			m.read.Wait()
			assert.NoError(c.t, m.Wait(), "%v: %s", m.Args, &m.errors)
			m.killed = true
		}
	}
}

// Three processes, one report for each second.
func (p *programs) testCron(t *testing.T) {
	c := newCrew(t)
	for range 3 {
		c.start(p, "cron")
	}
	seen := map[string]bool{}
	for len(seen) < 6 {
		words := strings.Fields(c.next().text)
		require.Len(t, words, 4)
		require.Equal(t, "report", words[0])
		require.False(t, seen[words[1]], "%s twice", words[1])
		seen[words[1]] = true
	}
	c.end()
}

// The leader is killed, and the next one is told to end. Each follower has a larger term.
func (p *programs) testLeader(t *testing.T) {
	c := newCrew(t)
	for range 3 {
		c.start(p, "leader")
	}
	last, over := uint64(0), map[*member]bool{}
	for i := range 3 {
		l := c.next()
		for over[l.by] {
			l = c.next()
		}
		var pid int
		var term uint64
		_, err := fmt.Sscanf(l.text, "process %d leads, term %d", &pid, &term)
		require.NoError(t, err, l.text)
		require.Equal(t, l.by.Process.Pid, pid)
		require.Greater(t, term, last)
		last, over[l.by] = term, true
		switch i {
		case 0:
			c.kill(l.by)
		case 1:
			require.NoError(t, l.by.Process.Signal(syscall.SIGTERM))
		}
	}
	for _, m := range c.members {
		if !m.killed {
			_ = m.Process.Signal(syscall.SIGTERM) // one has been told before
		}
	}
	c.wait()
}

// Three processes migrate a database, and three work on its rows. One of these is killed at work.
func (p *programs) testPool(t *testing.T) {
	file := filepath.Join(t.TempDir(), "orders.db")
	c := newCrew(t)
	for range 3 {
		c.start(p, "migration", file)
	}
	c.wait()
	require.Len(t, c.lines, 2)
	require.Equal(t, "version 1", c.next().text)
	require.Equal(t, "version 2", c.next().text)

	db, err := sql.Open("sqlite", file+"?_pragma=busy_timeout(60000)")
	require.NoError(t, err)
	defer db.Close() //nolint:errcheck // a test
	const insert = "INSERT INTO orders (state) VALUES ('open')"
	for range 20 {
		_, err := db.ExecContext(t.Context(), insert)
		require.NoError(t, err)
	}
	for range 3 {
		c.start(p, "pool", file)
	}
	begun := c.next()
	require.Contains(t, begun.text, "begun ")
	c.kill(begun.by)
	open := map[string]bool{} // an order that is done from here on is told, because nobody is killed
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), insert) // at least one is open, however late this is
	require.NoError(t, err)
	rows, err := tx.QueryContext(t.Context(), "SELECT id FROM orders WHERE state = 'open'")
	require.NoError(t, err)
	for rows.Next() {
		var id string
		require.NoError(t, rows.Scan(&id))
		open[id] = true
	}
	require.NoError(t, rows.Err())
	require.NoError(t, tx.Commit())
	require.NotEmpty(t, open)
	done, by := map[string]bool{}, map[*member]bool{begun.by: true}
	for len(open) > 0 || len(by) < 3 {
		l := c.next()
		by[l.by] = true
		id, is := strings.CutPrefix(l.text, "done ")
		if is {
			require.False(t, done[id], "order %s is done twice", id)
			done[id] = true
			delete(open, id)
		}
		if is && len(by) < 3 { // one starts slowly, and can't be told to end yet
			row, err := db.ExecContext(t.Context(), insert)
			require.NoError(t, err)
			id, err := row.LastInsertId()
			require.NoError(t, err)
			open[fmt.Sprint(id)] = true
		}
	}
	c.end()
	var left int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM orders WHERE state <> 'done' OR fence IS NULL").Scan(&left))
	require.Zero(t, left)
}

// Three processes move money between five accounts, back and forth. One of them is killed at work.
// No money appears or disappears.
func (p *programs) testTransfer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bank.db")
	db, err := sql.Open("sqlite", file+"?_pragma=busy_timeout(60000)")
	require.NoError(t, err)
	defer db.Close() //nolint:errcheck // a test
	_, err = db.ExecContext(t.Context(), "CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL CHECK (balance >= 0), fence INTEGER)")
	require.NoError(t, err)
	for id := range 5 {
		_, err := db.ExecContext(t.Context(), "INSERT INTO accounts VALUES (?, 1000, NULL)", id+1)
		require.NoError(t, err)
	}
	c := newCrew(t)
	for range 3 {
		c.start(p, "transfer", file)
	}
	first := c.next()
	require.Contains(t, first.text, "moved ")
	c.kill(first.by)
	// Each process says something before it is told to end: then it has started.
	for by, moves := map[*member]bool{first.by: true}, 0; len(by) < 3 || moves < 40; moves++ {
		l := c.next()
		require.Regexp(t, `^moved \d+ from \d to \d$`, l.text)
		by[l.by] = true
	}
	c.end()
	var total, fenced int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT sum(balance), count(fence) FROM accounts").Scan(&total, &fenced))
	require.Equal(t, 5000, total)
	require.Equal(t, 5, fenced)
}
