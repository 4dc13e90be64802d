//go:build unix

package box

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// Limits of a driver.
const (
	startLimit  = 60 * time.Second // until it has answered hello or open: it may be compiled first
	answerLimit = 20 * time.Second // until it has answered anything else
	endLimit    = 5 * time.Second  // until it has ended after its input has
	longestLine = 64 << 10         // bytes
)

// driver is a driver process.
type driver struct {
	client string
	limit  time.Duration // until it has answered hello or open
	cmd    *exec.Cmd
	in     io.WriteCloser
	errs   tail
	exited chan struct{} // closed when the process has ended
	read   chan struct{} // closed when all it printed was read

	answers chan Answer
	mu      sync.Mutex
	id      int           // of the last request
	asked   bool          // it is not answered yet
	broke   string        // what the driver did against the protocol
	broken  chan struct{} // closed then
	lost    int           // how often it told of a lost lease
}

// startDriver starts a driver. Every process that it starts is in its process group.
func startDriver(client string, o Options) (*driver, error) {
	d := &driver{
		client: client, limit: o.startLimit, cmd: exec.Command(o.Command[0], o.Command[1:]...), exited: make(chan struct{}), read: make(chan struct{}),
		answers: make(chan Answer, 1), broken: make(chan struct{}),
	}
	d.cmd.SysProcAttr, d.cmd.Stderr, d.cmd.WaitDelay = redisproc.Attributes(), &d.errs, endLimit
	d.cmd.SysProcAttr.Setpgid = true
	in, err := d.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Not StdoutPipe, because Wait would close it before all is read.
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	d.in, d.cmd.Stdout = in, writer
	err = d.cmd.Start()
	_ = writer.Close()
	if err != nil {
		_ = reader.Close()
		return nil, d.did("can't be started: %v", err)
	}
	go func() {
		_ = d.cmd.Wait()
		close(d.exited)
		// What it started and left behind would keep the pipe open.
		_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL)
	}()
	go func() {
		d.readAll(reader)
		_ = reader.Close()
		close(d.read)
	}()
	return d, nil
}

// readAll reads what the driver prints until it ends.
func (d *driver) readAll(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) != "" {
			d.take(lines.Bytes())
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		d.breaks(fmt.Sprintf("printed a line of more than %d bytes", longestLine))
	}
	_, _ = io.Copy(io.Discard, out)
	<-d.exited
	d.breaks("ended (" + d.cmd.ProcessState.String() + ")")
}

// take takes one line.
func (d *driver) take(line []byte) {
	var a Answer
	if err := json.Unmarshal(line, &a); err != nil {
		d.breaks(fmt.Sprintf("printed %.80q, %s", line, whyNoAnswer(err)))
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case a.ID == 0 && a.Event == EventLost:
		d.lost++
	case a.ID == 0:
		d.breaksLocked(fmt.Sprintf("printed %.80q, which has neither an id nor the event %q", line, EventLost))
	case a.ID != d.id || !d.asked:
		d.breaksLocked(fmt.Sprintf("answered to id %d, which nobody asked", a.ID))
	case a.Error != "":
		d.breaksLocked("says that it can't: " + a.Error)
	default:
		d.asked = false
		d.answers <- a // it has room: one request, one answer
	}
}

// whyNoAnswer says why a line isn't an Answer.
func whyNoAnswer(err error) string {
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return fmt.Sprintf("in which %q is the wrong type, a %s", wrong.Field, wrong.Value)
	}
	return "which isn't JSON; logs belong on standard error"
}

func (d *driver) breaks(did string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.breaksLocked(did)
}

// breaksLocked notes the first thing that the driver did against the protocol.
func (d *driver) breaksLocked(did string) {
	if d.broke == "" {
		d.broke = did
		close(d.broken)
	}
}

// failed reports whether it did something against the protocol.
func (d *driver) failed() bool {
	select {
	case <-d.broken:
		return true
	default:
		return false
	}
}

func (d *driver) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.did("%s", d.broke)
}

// did is an error that says what the driver did, and how its standard error ends.
func (d *driver) did(format string, args ...any) error {
	return &DriverError{Client: d.client, Did: fmt.Sprintf(format, args...), Said: d.errs.String()}
}

// errNoAnswer: a driver has not answered within its limit.
var errNoAnswer = errors.New("box: no answer")

// send sends a request.
func (d *driver) send(r Request) error {
	if d.failed() {
		return d.failure()
	}
	d.mu.Lock()
	d.id++
	r.ID, d.asked = d.id, true
	d.mu.Unlock()
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := d.in.Write(append(line, '\n')); err != nil {
		select {
		case <-d.broken:
		case <-time.After(endLimit): // it has closed its input and goes on
			d.breaks("reads nothing: " + err.Error())
		}
		return d.failure()
	}
	return nil
}

// await waits for the answer to the last request. Its error may be errNoAnswer.
func (d *driver) await(ctx context.Context, limit time.Duration) (Answer, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case a := <-d.answers:
		return a, nil
	case <-d.broken:
		return Answer{}, d.failure()
	case <-timer.C:
		return Answer{}, errNoAnswer
	case <-ctx.Done():
		return Answer{}, context.Cause(ctx)
	}
}

// ask sends a request and waits for the answer.
func (d *driver) ask(ctx context.Context, r Request, limit time.Duration) (Answer, error) {
	if err := d.send(r); err != nil {
		return Answer{}, err
	}
	return d.await(ctx, limit)
}

// start asks what a driver has to answer before anything else.
func (d *driver) start(ctx context.Context, r Request) (Answer, error) {
	a, err := d.ask(ctx, r, d.limit)
	if errors.Is(err, errNoAnswer) {
		err = d.did("hasn't answered %s within %v", r.Do, d.limit)
	}
	return a, err
}

// losses returns how often it told of a lost lease.
func (d *driver) losses() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lost
}

// pause stops the process group (SIGSTOP) and waits until the process has stopped.
func (d *driver) pause() error {
	if err := d.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	if redisproc.AwaitStop(d.cmd.Process.Pid, d.exited) {
		return nil
	}
	select {
	case <-d.exited:
		<-d.read
		return d.failure()
	default:
		return fmt.Errorf("box: the driver of %s didn't stop", d.client)
	}
}

func (d *driver) resume() error { return d.signal(syscall.SIGCONT) }

func (d *driver) signal(sig syscall.Signal) error {
	select {
	case <-d.exited:
		<-d.read
		return d.failure()
	default:
	}
	if err := syscall.Kill(-d.cmd.Process.Pid, sig); err != nil {
		return fmt.Errorf("box: %v for the driver of %s: %w", sig, d.client, err)
	}
	return nil
}

// kill kills the process group and waits until it is gone.
func (d *driver) kill() {
	_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL)
	d.ended()
}

// end ends the driver by ending its input, and kills it if it goes on.
func (d *driver) end() {
	_ = d.in.Close()
	_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGCONT)
	select {
	case <-d.exited:
	case <-time.After(endLimit):
		_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL)
	}
	d.ended()
}

// ended waits until the process and its goroutines have ended.
func (d *driver) ended() {
	<-d.exited
	<-d.read
	_ = d.in.Close()
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailLength = 400

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if n := len(t.text); n > tailLength {
		t.text = append([]byte(nil), t.text[n-tailLength:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(t.text), "")), " ")
}
