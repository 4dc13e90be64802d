package quorum_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
)

func TestSetHasOneText(t *testing.T) {
	for text, set := range map[string]quorum.Set{
		"@0 N=5 Q=3":                           {N: 5, Q: 3},
		"main@7 N=3 Q=2":                       {Name: "main", Version: 7, N: 3, Q: 2},
		"a.B_9-z@18446744073709551615 N=1 Q=1": {Name: "a.B_9-z", Version: 1<<64 - 1, N: 1, Q: 1},
	} {
		assert.Equal(t, text, set.String())
		parsed, err := quorum.ParseSet(text)
		require.NoError(t, err)
		assert.Equal(t, set, parsed)
	}
}

func TestSetTextThatIsNone(t *testing.T) {
	for _, text := range []string{
		"", "@", "main", "main@1", "main@1 N=5", "main@1 N=5 Q=", "main@1 N=5 Q=3 ", " main@1 N=5 Q=3",
		"main@1 Q=3 N=5", "main@1  N=5 Q=3", "main@-1 N=5 Q=3", "main@01 N=5 Q=3", "main@+1 N=5 Q=3", "main@1 N=05 Q=3",
		"main@1 N=5 Q=+3", "main@18446744073709551616 N=5 Q=3", "ma in@1 N=5 Q=3", "ma@in@1 N=5 Q=3", "mäin@1 N=5 Q=3",
		"main@1 N=5 Q=3\n", "main@1 N=5 Q=three", strings.Repeat("x", quorum.MaxSetName+1) + "@1 N=5 Q=3",
	} {
		set, err := quorum.ParseSet(text)
		assert.Error(t, err, "%q", text)
		assert.Zero(t, set)
	}
}

func TestSetSupersedes(t *testing.T) {
	old := quorum.Set{Name: "main", Version: 3, N: 5, Q: 3}
	for want, sets := range map[bool][]quorum.Set{
		true:  {{Name: "main", Version: 4, N: 5, Q: 3}, {Name: "main", Version: 9, N: 3, Q: 2}},
		false: {old, {Name: "main", Version: 2, N: 5, Q: 3}, {Name: "main", Version: 3, N: 7, Q: 4}, {Name: "other", Version: 4, N: 5, Q: 3}, {Version: 4}},
	} {
		for _, set := range sets {
			assert.Equal(t, want, set.Supersedes(old), "%v", set)
		}
	}
}

// Servers compare the text: one set must have one text, and one text one set.
func FuzzParseSet(f *testing.F) {
	for _, seed := range []string{"@0 N=5 Q=3", "main@7 N=3 Q=2", "a@01 N=+1 Q=-1", "@@ N= Q=", "x@1 N=5 Q=3 "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set, err := quorum.ParseSet(text)
		if err != nil {
			require.Zero(t, set)
			return
		}
		require.Equal(t, text, set.String())
		require.LessOrEqual(t, len(set.Name), quorum.MaxSetName)
		require.False(t, set.Supersedes(set))
	})
}
