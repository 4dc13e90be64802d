package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// retryables says of each exported error of the package whether trying again can help.
var retryables = map[string]struct {
	err  error
	want bool
}{
	"ErrTaken":         {quorum.ErrTaken, true},
	"ErrSplit":         {quorum.ErrSplit, true},
	"ErrHeldByCaller":  {quorum.ErrHeldByCaller, false},
	"ErrNoQuorum":      {quorum.ErrNoQuorum, true},
	"ErrTooSlow":       {quorum.ErrTooSlow, true},
	"ErrUnsettled":     {quorum.ErrUnsettled, true},
	"ErrInterrupted":   {quorum.ErrInterrupted, false},
	"ErrExhausted":     {quorum.ErrExhausted, true},
	"ErrLost":          {quorum.ErrLost, false},
	"ErrExpired":       {quorum.ErrExpired, false},
	"ErrNotExtended":   {quorum.ErrNotExtended, true},
	"ErrReleased":      {quorum.ErrReleased, false},
	"ErrHandedOff":     {quorum.ErrHandedOff, false},
	"ErrNotHeld":       {quorum.ErrNotHeld, false},
	"ErrUnreachable":   {quorum.ErrUnreachable, false},
	"ErrClosed":        {quorum.ErrClosed, false},
	"ErrQuarantined":   {quorum.ErrQuarantined, true},
	"ErrDuplicate":     {quorum.ErrDuplicate, false},
	"ErrEviction":      {quorum.ErrEviction, false},
	"ErrHidden":        {quorum.ErrHidden, false},
	"ErrConfig":        {quorum.ErrConfig, false},
	"ErrTimeout":       {quorum.ErrTimeout, true},
	"ErrOverloaded":    {quorum.ErrOverloaded, true},
	"ErrOtherRun":      {quorum.ErrOtherRun, true},
	"ErrSetMismatch":   {quorum.ErrSetMismatch, false},
	"ErrCounter":       {quorum.ErrCounter, false},
	"ErrNotReplicated": {quorum.ErrNotReplicated, true},
	"ErrNotMaster":     {quorum.ErrNotMaster, true},
	"ErrPending":       {quorum.ErrPending, true},

	"InstanceError":   {&quorum.InstanceError{Instance: "a", Err: errors.New("connection refused")}, true},
	"RoundError":      {&quorum.RoundError{Verdict: quorum.ErrTaken}, true},
	"WaitError":       {&quorum.WaitError{Verdict: quorum.ErrExhausted}, true},
	"QuarantineError": {&quorum.QuarantineError{Reason: quorum.Restarted}, true},
}

func TestRetryableKnowsEveryError(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	require.NoError(t, err)
	names := 0
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			var found []*ast.Ident
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				if gen.Tok == token.VAR {
					found = spec.Names
				}
			case *ast.TypeSpec:
				if _, isStruct := spec.Type.(*ast.StructType); isStruct && len(spec.Name.Name) > 5 && spec.Name.Name[len(spec.Name.Name)-5:] == "Error" {
					found = []*ast.Ident{spec.Name}
				}
			}
			for _, name := range found {
				if !name.IsExported() {
					continue
				}
				names++
				c, known := retryables[name.Name]
				if assert.True(t, known, "is %s retryable?", name) {
					assert.Equal(t, c.want, quorum.Retryable(c.err), "%s", name)
					assert.Equal(t, c.want, quorum.Retryable(fmt.Errorf("job 7: %w", c.err)), "%s, wrapped", name)
				}
			}
		}
	}
	assert.Equal(t, len(retryables), names)
}

func TestRetryable(t *testing.T) {
	round := func(verdict error, votes ...error) *quorum.RoundError {
		e := &quorum.RoundError{Op: wire.Acquire, Key: "k", Verdict: verdict, Quorum: 2}
		for i, err := range votes {
			e.Votes = append(e.Votes, quorum.Ballot{Instance: string(rune('a' + i)), Vote: wire.Vote{Err: err}})
		}
		return e
	}
	down, denied := errors.New("connection refused"), permanentError{true}
	raised := round(quorum.ErrUnsettled, nil, nil, nil)
	raised.Raises = []quorum.Ballot{{Vote: wire.Vote{Err: denied}}, {Vote: wire.Vote{Err: denied}}}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"nil":                            {nil, false},
		"another error":                  {errors.New("disk full"), false},
		"the caller's end":               {context.Canceled, false},
		"a stale token":                  {fencing.ErrStale, false},
		"nobody answers":                 {round(quorum.ErrNoQuorum, down, down, nil), true},
		"one wrong password":             {round(quorum.ErrNoQuorum, denied, down, nil), true},
		"two wrong passwords":            {round(quorum.ErrNoQuorum, denied, denied, nil), false},
		"a cured one":                    {round(quorum.ErrNoQuorum, permanentError{false}, permanentError{false}, nil), true},
		"raises that fail for good":      {raised, false},
		"another set on one":             {round(quorum.ErrSetMismatch, &wire.SetMismatchError{}, down, nil), true},
		"another set on two":             {round(quorum.ErrSetMismatch, &wire.SetMismatchError{}, &wire.SetMismatchError{}, nil), false},
		"too much load":                  {round(quorum.ErrOverloaded), true},
		"no randomness":                  {round(errors.New("no randomness")), false},
		"interrupted":                    {round(quorum.ErrInterrupted, down, down, nil), false},
		"a wait for a lock":              {&quorum.WaitError{Verdict: quorum.ErrExhausted, Last: round(quorum.ErrTaken)}, true},
		"a wait that was cancelled":      {&quorum.WaitError{Verdict: quorum.ErrInterrupted, Cause: context.Canceled, Last: round(quorum.ErrTaken)}, false},
		"a wait until Close":             {&quorum.WaitError{Verdict: quorum.ErrClosed, Last: round(quorum.ErrTaken)}, false},
		"a wait with wrong passwords":    {&quorum.WaitError{Verdict: quorum.ErrExhausted, Last: round(quorum.ErrNoQuorum, denied, denied, nil)}, false},
		"a Sentinel":                     {fmt.Errorf("wrapped: %w", permanentError{true}), false},
		"another run":                    {&wire.RunError{Role: "slave"}, true},
		"an instance that fails":         {&quorum.InstanceError{Err: denied}, false},
		"an instance that evicts":        {&quorum.InstanceError{Err: fmt.Errorf("%w: allkeys-lru", quorum.ErrEviction)}, false},
		"a report of two":                {errors.Join(&quorum.InstanceError{Err: down}, &quorum.InstanceError{Err: quorum.ErrTimeout}), true},
		"a report of two, one for good":  {errors.Join(&quorum.InstanceError{Err: down}, &quorum.InstanceError{Err: denied}), false},
		"the work failed, and was alone": {errors.Join(errors.New("disk full")), false},
		"the lock was lost":              {errors.Join(quorum.ErrTaken, quorum.ErrLost), false},
		"no parts":                       {&wrapsNone{}, false},
	} {
		assert.Equal(t, c.want, quorum.Retryable(c.err), "%s", name)
	}
}

type wrapsNone struct{}

func (*wrapsNone) Error() string   { return "nothing" }
func (*wrapsNone) Unwrap() []error { return nil }
