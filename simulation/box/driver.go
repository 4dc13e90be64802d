//go:build unix

package box

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/simulation/box/driver"
)

// Limits of a driver.
const (
	startLimit  = 60 * time.Second // until it has answered hello or open, because it may be compiled first, and until its client got its first lock
	answerLimit = 20 * time.Second // until it has answered anything else
	endLimit    = 5 * time.Second  // until it has ended after its input has
	longestLine = 64 << 10         // bytes
	saidLength  = 400              // bytes of its standard error in an error
)

// clientProcess is a driver's process.
type clientProcess struct {
	client  string
	limit   time.Duration // until it has answered hello or open
	process *redisproc.Process
	in      io.WriteCloser
	errs    redisproc.Output
	line    []byte // that it has begun to print
	answers chan driver.Answer
	last    int          // the id of the last request
	asked   time.Time    // when it was sent
	waits   bool         // it lets the client wait
	came    time.Time    // when the last answer came
	awaited atomic.Int64 // the id of the request that is not answered yet, 0 without one
	losses  atomic.Int64 // how often it told of a lost lease
	// obeys ends when the driver does something against the protocol, by breaks, which keeps the first thing.
	obeys  context.Context
	breaks context.CancelCauseFunc
}

// startDriver starts a driver that has a limit for its answers to hello and open. Every process that it starts is in its
// process group.
func startDriver(client string, command []string, limit time.Duration) (*clientProcess, error) {
	d := &clientProcess{client: client, limit: limit, answers: make(chan driver.Answer, 1)}
	d.obeys, d.breaks = context.WithCancelCause(context.Background())
	cmd := exec.Command(command[0], command[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = d, &d.errs, endLimit
	var err error
	if d.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if d.process, err = redisproc.StartProcess(cmd); err != nil {
		return nil, d.did("can't be started: %v", err)
	}
	return d, nil
}

// Write takes what the driver prints.
func (d *clientProcess) Write(p []byte) (int, error) {
	d.line = append(d.line, p...)
	for {
		line, rest, ok := bytes.Cut(d.line, []byte("\n"))
		if !ok {
			break
		}
		if d.line = rest; len(bytes.TrimSpace(line)) > 0 {
			d.take(line)
		}
	}
	if len(d.line) > longestLine {
		d.line = nil
		d.breaks(d.did("printed a line of more than %d bytes", longestLine))
	}
	return len(p), nil
}

// take takes one line.
func (d *clientProcess) take(line []byte) {
	var a driver.Answer
	if err := json.Unmarshal(line, &a); err != nil {
		why := "which isn't JSON; logs belong on standard error"
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			why = fmt.Sprintf("in which %q is the wrong type, a %s", strings.TrimPrefix(wrong.Field, "Hello."), wrong.Value)
		}
		d.breaks(d.did("printed %.80q, %s", line, why))
		return
	}
	switch {
	case a.ID == 0 && a.Event == driver.EventLost:
		d.losses.Add(1)
	case a.ID == 0:
		d.breaks(d.did("printed %.80q, which has neither an id nor the event %q", line, driver.EventLost))
	case !d.awaited.CompareAndSwap(int64(a.ID), 0):
		d.breaks(d.did("answered to id %d, which nobody asked", a.ID))
	case a.Error != "":
		d.breaks(d.did("says that it can't: %s", a.Error))
	default:
		d.came = time.Now()
		d.answers <- a // it has room: one request, one answer
	}
}

// failure is what the driver did against the protocol, nil if it did nothing. All that a process printed
// was taken before its end is known.
func (d *clientProcess) failure() error {
	select {
	case <-d.process.Exited:
		d.breaks(d.did("ended (%s)", d.process.State()))
	default:
	}
	return context.Cause(d.obeys)
}

// DriverError is a driver that broke the protocol, could not be started or died: the text says what it did, and how its
// standard error ends. Nothing is concluded from the play.
type DriverError string

func (e DriverError) Error() string { return string(e) }

// did is a DriverError.
func (d *clientProcess) did(format string, args ...any) error {
	text := fmt.Sprintf("box: the driver of %s %s", d.client, fmt.Sprintf(format, args...))
	said := strings.Join(strings.Fields(strings.ToValidUTF8(d.errs.String(), "")), " ")
	if said != "" {
		text += "; its standard error ends with: " + said[max(0, len(said)-saidLength):]
	}
	return DriverError(text)
}

// errNoAnswer: a driver has not answered within its limit.
var errNoAnswer = errors.New("box: no answer")

// send sends a request.
func (d *clientProcess) send(r driver.Request) error {
	if err := d.failure(); err != nil {
		return err
	}
	d.last++
	r.ID, d.asked, d.waits = d.last, time.Now(), r.Wait > 0
	d.awaited.Store(int64(r.ID))
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := d.in.Write(append(line, '\n')); err != nil {
		select {
		case <-d.process.Exited:
		case <-time.After(answerLimit): // it has closed its input and goes on
			d.breaks(d.did("reads nothing: %v", err))
		}
		return d.failure()
	}
	return nil
}

// await waits for the answer to the last request. Its error may be errNoAnswer.
func (d *clientProcess) await(ctx context.Context, limit time.Duration) (driver.Answer, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case a := <-d.answers:
		return a, nil
	case <-d.obeys.Done():
		return driver.Answer{}, d.failure()
	case <-d.process.Exited:
	case <-timer.C:
		return driver.Answer{}, errNoAnswer
	case <-ctx.Done():
		return driver.Answer{}, context.Cause(ctx)
	}
	select {
	case a := <-d.answers:
		return a, nil
	default:
		return driver.Answer{}, d.failure()
	}
}

// ask sends a request and waits for the answer.
func (d *clientProcess) ask(ctx context.Context, r driver.Request, limit time.Duration) (driver.Answer, error) {
	if err := d.send(r); err != nil {
		return driver.Answer{}, err
	}
	return d.await(ctx, limit)
}

// start asks what a driver has to answer before anything else.
func (d *clientProcess) start(ctx context.Context, r driver.Request) (driver.Answer, error) {
	a, err := d.ask(ctx, r, d.limit)
	if errors.Is(err, errNoAnswer) {
		err = d.did("hasn't answered %s within %v", r.Do, d.limit)
	}
	return a, err
}

// pause stops the process group, and returns when the process has stopped.
func (d *clientProcess) pause() error { return d.signalled(d.process.Pause()) }

func (d *clientProcess) resume() error { return d.signalled(d.process.Resume()) }

// signalled prefers what the driver did, such as ending, to the error of a signal.
func (d *clientProcess) signalled(err error) error {
	if err == nil {
		return nil
	}
	return cmp.Or(d.failure(), fmt.Errorf("box: the driver of %s: %w", d.client, err))
}

// kill kills the process group and waits until it is gone.
func (d *clientProcess) kill() { d.process.End(syscall.SIGKILL, endLimit) }

// end ends the driver by ending its input, and kills it if it goes on.
func (d *clientProcess) end() {
	_ = d.in.Close()
	d.process.End(syscall.SIGCONT, endLimit)
}
