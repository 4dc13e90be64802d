package cells

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/record"
)

// The rules name existing things, give reasons, and cover every cell of the default rows.
func TestRulesAreSound(t *testing.T) {
	for _, r := range rules {
		assert.NotEmpty(t, r.Why)
		assert.NotEmpty(t, r.designs)
		for _, name := range r.designs {
			design(t, name)
		}
		for _, name := range r.faults {
			_, err := ByName(name)
			assert.NoError(t, err)
		}
		if r.Within > 0 {
			assert.Positive(t, r.Within, r.Why)
		}
		if !r.Broken {
			assert.Empty(t, r.Only, r.Why)
		}
	}
	for _, f := range Faults() {
		for _, d := range Rows() {
			_, ok := ExpectationOf(f.Name, d.Name)
			assert.True(t, ok, "%s / %s", d.Name, f.Name)
		}
		_, ok := ExpectationOf(f.Name, "value-reused")
		assert.False(t, ok)
	}
}

// A column that breaks no design would prove nothing: each has a design that it surely breaks,
// beside the same design without a feature.
func TestEachColumnBites(t *testing.T) {
	easy := map[string]bool{"setnx": true, "setpx-del": true, "setnx-expire": true}
	for _, f := range Faults() {
		bites := false
		for _, d := range designs.All() {
			want, ok := ExpectationOf(f.Name, d.Name)
			bites = bites || ok && want.Within > 0 && !easy[d.Name]
		}
		if f.Name != "crash" { // what X1 breaks is setnx, more often
			assert.True(t, bites, f.Name)
		}
	}
}

// An expectation is about many runs, and can't be read as one about the run beside it.
func TestExpectationInWords(t *testing.T) {
	for says, e := range map[string]Expectation{
		"many runs break this lock, because it leaks":      surely("it leaks"),
		"few runs break this lock, because it leaks":       rarely("it leaks"),
		"no run should break this lock, because it is dry": never("it is dry"),
	} {
		assert.Equal(t, says, e.String())
	}
}

func TestPromises(t *testing.T) {
	for name, fenced := range map[string]bool{"setnx": false, "default": false, "token-write": true, "token-admit": true, "idempotent": true, "token-after": true} {
		d := design(t, name)
		assert.Equal(t, fenced, d.Fenced(), name)
		assert.Equal(t, !fenced, Promised(d, record.TwoHolders), name)
		assert.Equal(t, !fenced, Promised(d, record.Overvalued), name)
		assert.False(t, Harms(d, record.Overvalued), name)
		for _, kind := range []record.ViolationKind{record.StaleWrite, record.LostUpdate, record.TokenOrder, record.NeverFree, record.NoProgress, record.Stuck} {
			assert.True(t, Promised(d, kind), "%s: %s", name, kind)
		}
	}
}
