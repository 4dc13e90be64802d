package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/redquorum/redlock/simulation/internal/play/browser"
)

// buildPage builds the page and its engine. Tests don't compile it: those of the page do.
var buildPage = browser.Build

// runPlay serves the page on which the simulation runs in a browser, or writes its files.
func runPlay(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var out string
	flags := flag.NewFlagSet("play", flag.ContinueOnError)
	flags.StringVar(&out, "out", "", "write the page's files into this `folder` instead of serving them: they work in every folder of every web server")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	folder, err := out, error(nil)
	if out == "" {
		if folder, err = os.MkdirTemp("", "redlocksim-play-*"); err != nil {
			return err
		}
		defer os.RemoveAll(folder)
	}
	err = buildPage(ctx, folder, stderr)
	switch {
	case errors.Is(err, browser.ErrNoToolchain):
		return usageError{err}
	case err != nil:
		return interrupted(ctx, err)
	case out != "":
		fmt.Fprintf(stdout, "the page: %s; put it on a web server, browsers don't load it from a file\n", out)
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	address := "http://" + listener.Addr().String() + "/"
	fmt.Fprintf(stdout, "%s\nCtrl-C ends it\n", address)
	return serve(ctx, listener, browser.Handler(folder))
}

// serve serves until ctx ends.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // the listener ends with the program
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
