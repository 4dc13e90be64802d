package guardtest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/fencing"
)

func passed(tok fencing.Token, begin, end int64) call {
	return call{token: tok, begin: begin, end: end}
}

func refusedAt(tok, highest fencing.Token, begin, end int64) call {
	return call{tok, begin, end, &fencing.StaleError{Resource: "r", Token: tok, Highest: highest}}
}

// TestJudge checks the judge with small histories with an obvious verdict.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name    string
		history []call
		wrong   string // a part of the verdict; empty: explained
	}{
		{"nothing", nil, ""},
		{"in order", []call{passed(1, 1, 2), passed(2, 3, 4), passed(2, 5, 6)}, ""},
		{"smaller after larger", []call{passed(2, 1, 2), passed(1, 3, 4)}, "went back"},
		{"smaller while larger runs", []call{passed(2, 1, 4), passed(1, 2, 3)}, ""},
		{"refused after larger", []call{passed(2, 1, 2), refusedAt(1, 2, 3, 4)}, ""},
		{"refused for nobody", []call{passed(1, 1, 2), refusedAt(1, 2, 3, 4)}, "no mark explains"},
		{"refused before the larger began", []call{refusedAt(1, 2, 1, 2), passed(2, 3, 4)}, "no mark explains"},
		{"refused although larger", []call{passed(2, 1, 2), refusedAt(3, 2, 3, 4)}, "no mark explains"},
		{"refused with an old mark", []call{passed(2, 1, 2), passed(3, 3, 4), refusedAt(1, 2, 5, 6)}, "went back"},
		{"seen higher, then lower", []call{passed(3, 1, 9), passed(2, 2, 3), refusedAt(1, 3, 4, 5), refusedAt(1, 2, 6, 7)}, "went back"},
		{"an error that is no verdict", []call{{1, 1, 2, errors.New("store away")}}, "store away"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := judge(c.history)
			if c.wrong == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, c.wrong)
			}
		})
	}
}
