package command

import (
	"bytes"
	"errors"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/matrix"
)

// Without a command: an answer that fits on any screen, and what to run next.
func TestFirstScreen(t *testing.T) {
	plan := matrix.Plan{Seeds: 2}
	for _, d := range (matrix.Result{}).Summary().Designs {
		plan.Designs = append(plan.Designs, d.Name)
	}
	for _, f := range (matrix.Result{}).Summary().Faults {
		plan.Faults = append(plan.Faults, f.Name)
	}
	require.Len(t, plan.Designs, 5)
	require.Len(t, plan.Faults, 8)
	r, err := matrix.Play(t.Context(), plan, matrix.Pool{})
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, (&matrixFlags{}).firstScreen(t.Context(), &text, r))
	out := text.String()
	assert.LessOrEqual(t, strings.Count(out, "\n"), 40, out)
	for line := range strings.Lines(out) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 80, line)
	}
	for _, words := range []string{
		`(?m)^How often a lock fails, of 2 runs each:$`, `(?m)^a client is paused .* none$`, `(?m)^the network is cut `,
		`(?m)^Next:$`, `(?m)^  ` + start + ` run S1( |$)`, `(?m)^  ` + start + ` play( |$)`, `(?m)^  ` + start + ` matrix( |$)`,
	} {
		assert.Regexp(t, words, out)
	}
	assert.NotContains(t, out, "\x1b")
}

// The remaining time is that of the rest at the rate so far.
func TestTimeRemaining(t *testing.T) {
	for _, test := range []struct {
		seconds, done, of uint64
		want              string
	}{
		{10, 100, 200, ", 10 s left"}, {10, 100, 1100, ", 100 s left"}, {10, 10, 1000, ", 17 min left"},
		{0, 1, 2, ""}, {10, 0, 5, ""}, {10, 5, 5, ""},
	} {
		assert.Equal(t, test.want, left(time.Duration(test.seconds)*time.Second, test.done, test.of), "%+v", test)
	}
}

func TestMatrixOfTwoDesigns(t *testing.T) {
	seeds := 20
	with := func(more ...string) []string {
		return append([]string{"matrix", "-designs", "redlock,token-admit", "-faults", "restart-empty, cut", "-seeds", strconv.Itoa(seeds)}, more...)
	}
	text, _ := does(t, exitOK, with()...)
	assert.Regexp(t, `(?m)^restart-empty: redlock [\d.]+%, token-admit none$`, text)
	assert.Regexp(t, `(?m)^cut: redlock none, token-admit none$`, text)
	assert.Regexp(t, `redlock / restart-empty: [\d.]+ % \([\d.]+ to [\d.]+ %\)`, text)

	again, _ := does(t, exitOK, with("-workers", "1")...)
	assert.Equal(t, text, again)
	seed := regexp.MustCompile(`redlock / restart-empty: .*two\s+holders\s+\d+\s+\(seed\s+(\d+)\)`).FindStringSubmatch(strings.ReplaceAll(text, "\n    ", " "))
	require.NotNil(t, seed)
	story, _ := does(t, exitOK, "run", "restart-empty", "-design", "redlock", "-seed", seed[1])
	assert.Contains(t, story, "TWO HOLDERS")
}

// Ctrl-C: the results so far are shown, and that they are incomplete.
func TestMatrixIsInterrupted(t *testing.T) {
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGINT))
	<-ctx.Done()
	var out, errs bytes.Buffer
	require.Equal(t, exitFail, Run(ctx, []string{"matrix", "-designs", "redlock", "-faults", "slow"}, &out, &errs))
	assert.Contains(t, out.String(), "INTERRUPTED after 0 of 50 runs")
	assert.Contains(t, errs.String(), "interrupted: this is what had been played")
}

// An unexpected verdict makes the matrix fail, and so does an interruption.
func TestWhatMakesTheMatrixFail(t *testing.T) {
	wrong := []error{errors.New("S4 with redlock: found none"), errors.New("default under cut")}
	var out bytes.Buffer
	printUnexpected(&out, wrong)
	assert.Equal(t, "\nNot as expected:\n  S4 with redlock: found none\n  default under cut\n", out.String())
	require.EqualError(t, verdict(t.Context(), wrong), "2 cells not as expected")
	require.NoError(t, verdict(t.Context(), nil))
	out.Reset()
	printUnexpected(&out, nil)
	assert.Empty(t, out.String())
}

func TestRun(t *testing.T) {
	out, errs := does(t, exitOK, "run", "s4", "-design", "redlock", "-seed", "3")
	assert.Empty(t, errs)
	assert.NotContains(t, out, "\x1b")
	for _, words := range []string{"S4: A server's clock jumps forward · redlock · seed 3", "!! TWO HOLDERS", "found: stale write, two holders; expected: stale write, two holders", "as expected\n"} {
		assert.Contains(t, out, words)
	}
	held, _ := does(t, exitOK, "run", "S4")
	assert.Contains(t, held, "· default ·")
	assert.Contains(t, held, "found: none; expected: none")
	fault, _ := does(t, exitOK, "run", "cut", "-seed", "2")
	assert.Contains(t, fault, "expected: no run should break this lock, because of two majorities")
}

func TestListHasFaults(t *testing.T) {
	out, _ := does(t, exitOK, "list")
	assert.Regexp(t, `(?m)^  pause +clients stop`, out)
	assert.Contains(t, strings.Join(strings.Fields(out), " "), "(-faults restart,step): pause suspend ")
	for line := range strings.Lines(out) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 100, line)
	}
	out, _ = does(t, exitOK, "list", "pause")
	assert.Contains(t, out, "source: Kleppmann 2016")
	assert.Regexp(t, `(?m)^  token-admit +no run should break this lock, because the resource`, out)
}
