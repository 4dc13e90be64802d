package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "site:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stopped above
	}
}

// run writes the folder.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var out string
	var pagesOnly bool
	flags := flag.NewFlagSet("site", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&out, "out", "", "the `folder` to write, which must be empty or absent")
	flags.BoolVar(&pagesOnly, "pages-only", false, "leave out the simulation's page and the report, which take a minute or two")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if out == "" || flags.NArg() > 0 {
		return errors.New("say where to: -out FOLDER, and nothing else")
	}
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return fmt.Errorf("-out: %s has files; give an empty folder, because old pages would stay", out)
	}
	root, err := repository()
	if err != nil {
		return err
	}
	s := site{root: root, out: out, whole: !pagesOnly}
	if err := s.write(); err != nil {
		return err
	}
	if s.whole {
		for _, command := range [][]string{
			{"play", "-out", filepath.Join(out, "play")},
			{"matrix", "-seeds", "20", "-html", filepath.Join(out, "report.html")},
		} {
			cmd := exec.CommandContext(ctx, "go", append([]string{"run", "./simulation/cmd/redlocksim"}, command...)...)
			cmd.Dir, cmd.Stdout, cmd.Stderr = root, io.Discard, stderr
			if err := cmd.Run(); err != nil {
				return fmt.Errorf("redlocksim %s: %w", command[0], err)
			}
		}
	}
	_, err = fmt.Fprintf(stdout, "%d pages in %s; begin with index.html\n", len(s.done), out)
	return err
}

// repository is the folder of the repository: the nearest above with docs/site in it.
func repository() (string, error) {
	folder, err := os.Getwd()
	for ; err == nil; folder = filepath.Dir(folder) {
		if _, missing := os.Stat(filepath.Join(folder, "docs", "site", "go.mod")); missing == nil {
			return folder, nil
		}
		if folder == filepath.Dir(folder) {
			return "", errors.New("this is no clone of the repository; run it in one")
		}
	}
	return "", err
}
