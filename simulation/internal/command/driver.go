//go:build unix

package command

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"

	"github.com/redquorum/redlock/simulation/internal/live"
)

// runDriver ends with its input.
func runDriver(_ context.Context, args []string, stdout, stderr io.Writer) error {
	design, err := live.ParseDesign(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return usageError{err}
	}
	return design.Serve(os.Stdin, stdout)
}
