package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

func runShrink(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var kind, out string
	flags := flag.NewFlagSet("shrink", flag.ContinueOnError)
	flags.StringVar(&kind, "kind", "", "the `kind` of violation to keep (default: the kind in the file)")
	flags.StringVar(&out, "o", "", "the `file` to write (default: beside the input, with -small in its name)")
	path, err := parseWith(flags, args, "replay file", stderr)
	if err != nil {
		return err
	}
	known := registry()
	file, err := search.Load(known, path)
	if err != nil {
		return usageError{err}
	}
	about, err := keep(file, kind)
	if err != nil {
		return usageError{err}
	}
	out = cmp.Or(out, strings.TrimSuffix(path, ".json")+"-small.json")
	if err := writable("-o", filepath.Dir(out)); err != nil {
		return err
	}
	began := time.Now()
	shrunk, err := search.Shrink(ctx, known, file.Setup, about)
	if err != nil {
		return fmt.Errorf("%w: has the code changed since it was recorded? See %s", err, repeat("replay", path))
	}
	small, err := search.Record(known, shrunk.Setup, about)
	if err != nil {
		return err
	}
	if err := small.Save(out); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %s, in %d runs and %v\n", about, smaller(file.Setup, shrunk.Setup), shrunk.Runs, time.Since(began).Round(time.Millisecond))
	printSetup(stdout, shrunk.Setup)
	fmt.Fprintln(stdout, repeat("replay", out))
	if ctx.Err() != nil {
		return errors.New("interrupted: it might have become smaller")
	}
	return nil
}

// keep returns the kind of violation to keep.
func keep(file search.File, kind string) (record.ViolationKind, error) {
	kinds := file.Kinds()
	switch {
	case kind != "":
		for _, k := range kinds {
			if string(k) == kind {
				return k, nil
			}
		}
		return "", fmt.Errorf("-kind is %q, and the file has %q", kind, kinds)
	case file.About != "":
		return file.About, nil
	case len(kinds) == 0:
		return "", errors.New("the file has no violation, so that there is nothing to keep")
	}
	return kinds[0], nil
}
