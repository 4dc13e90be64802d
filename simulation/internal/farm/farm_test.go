package farm

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// double plays a run by doubling its number; no run may have the number 9.
func double(string) (Player[string, uint64], error) {
	return func(_ string, n uint64, sum *uint64) error {
		if n == 9 {
			return errors.New("no such run")
		}
		*sum += 2 * n
		return nil
	}, nil
}

func TestServe(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Serve(strings.NewReader(`"hello" {"what":"a","from":1,"to":3} {"what":"a"}`), &out, double))
	require.Equal(t, "{\"begins\":1}\n{\"begins\":2}\n{\"result\":6}\n{\"result\":0}\n", out.String())

	out.Reset()
	require.ErrorContains(t, Serve(strings.NewReader(`"hello" {"what":"a","from":9,"to":10}`), &out, double), "no such run")
	require.Equal(t, "{\"begins\":9}\n{\"error\":\"no such run\"}\n", out.String(), "the other end is told, too")

	require.ErrorContains(t, Serve(strings.NewReader(``), &out, double), "the greeting can't be read")
	require.ErrorContains(t, Serve(strings.NewReader(`"hello" {"wh`), &out, double), "a job can't be read")
	for _, job := range []string{`{"from":1,"to":2}`, `{}`} {
		require.ErrorContains(t, Serve(strings.NewReader(`"hello"`+job), broken{}, double), "nothing can be written")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no") }
