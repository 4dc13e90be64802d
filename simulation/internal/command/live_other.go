//go:build !unix

package command

import (
	"context"
	"errors"
	"io"
)

// errNoUnix: processes are stopped and killed by signals, which only Unix has.
var errNoUnix = errors.New("real servers are stopped and killed by signals, which this system hasn't; use Linux, macOS or WSL")

func runLive(context.Context, []string, io.Writer, io.Writer) error { return usageError{errNoUnix} }

func runDriver(context.Context, []string, io.Writer, io.Writer) error { return usageError{errNoUnix} }

func runBox(context.Context, []string, io.Writer, io.Writer) error { return usageError{errNoUnix} }

func runServers(context.Context, []string, io.Writer, io.Writer) error { return usageError{errNoUnix} }
