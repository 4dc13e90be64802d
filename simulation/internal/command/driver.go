//go:build unix

package command

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/redquorum/redlock/simulation/internal/live"
)

// runDriver ends with its input.
func runDriver(_ context.Context, args []string, stdout, stderr io.Writer) error {
	err := live.Drive(args, os.Stdin, stdout, stderr)
	if errors.Is(err, live.ErrArguments) {
		return usageError{err}
	}
	return err
}
