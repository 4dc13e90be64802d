package cells

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/record"
)

// The rules name existing things, give reasons, and cover every cell of all designs but the flaws.
func TestRulesAreSound(t *testing.T) {
	for _, r := range rules {
		assert.NotEmpty(t, r.why)
		assert.NotEmpty(t, r.designs)
		for _, name := range strings.Fields(r.designs) {
			design(t, name)
		}
		for _, name := range strings.Fields(r.faults) {
			_, err := ByName(name)
			assert.NoError(t, err)
		}
	}
	for _, f := range Faults() {
		for _, d := range designs.All() {
			_, ok := ExpectationOf(f.Name, d.Name)
			assert.True(t, ok || d.Group == designs.Flaws, "%s / %s", d.Name, f.Name)
		}
		_, ok := ExpectationOf(f.Name, "value-reused")
		assert.False(t, ok)
	}
}

// An expectation is about many runs, and can't be read as one about the run beside it.
func TestExpectationInWords(t *testing.T) {
	assert.Equal(t, "some runs may break this lock, because it leaks", Expectation{harm, "it leaks"}.String())
	assert.Equal(t, "no run should break this lock, because it is dry", Expectation{never, "it is dry"}.String())
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
