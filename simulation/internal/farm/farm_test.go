package farm

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// doubles is two jobs; a run doubles its number, and no run may have the number 9.
func doubles(first uint64) (Plan[string, uint64], error) {
	return Plan[string, uint64]{
		Jobs: slices.Values([]Job[string]{{"a", first, first + 2}, {"b", 5, 6}, {"c", 0, 0}}),
		Run: func(_ string, n uint64, sum *uint64) error {
			if n == 9 {
				return errors.New("no such run")
			}
			*sum += 2 * n
			return nil
		},
	}, nil
}

func TestServe(t *testing.T) {
	var out bytes.Buffer
	for share, says := range map[string]string{
		`{"Greeting":1,"Worker":0,"Of":2}`: "{\"begins\":1}\n{\"begins\":2}\n{\"result\":6}\n{\"result\":0}\n",
		`{"Greeting":1,"Worker":1,"Of":2}`: "{\"begins\":5}\n{\"result\":10}\n",
	} {
		require.NoError(t, Serve(strings.NewReader(share), &out, doubles))
		require.Equal(t, says, out.String())
		out.Reset()
	}
	require.ErrorContains(t, Serve(strings.NewReader(`{"Greeting":9,"Of":1}`), &out, doubles), "no such run")
	require.Equal(t, "{\"begins\":9}\n{\"error\":\"no such run\"}\n", out.String(), "the other end is told, too")

	require.ErrorContains(t, Serve(strings.NewReader(`{"Greeting":1}`), &out, doubles), "a share of 0 workers")
	require.ErrorContains(t, Serve(strings.NewReader(`{"Gr`), &out, doubles), "the share can't be read")
	for _, share := range []string{`{"Greeting":1,"Of":1}`, `{"Greeting":1,"Worker":2,"Of":3}`} {
		require.ErrorContains(t, Serve(strings.NewReader(share), broken{}, doubles), "nothing can be written")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no") }
