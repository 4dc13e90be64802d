// Command redlockctl looks at the servers of a lock and at its locks, and runs commands under a
// lock.
//
//	redlockctl verify                                 are the servers fit for locks?
//	redlockctl inspect orders:42                      who has the lock, for how long, and who waits?
//	redlockctl lock report -- ./report.sh             run a command under the lock
//	redlockctl once -every 1h report -- ./report.sh   run it on one of several machines, each hour
//	redlockctl elect sender -- ./send.sh              run it on one of several machines at a time
//	redlockctl release orders:42                      delete a lock by hand, after checks
//
// The servers are given by -servers or in the environment variable REDLOCK_SERVERS, as URLs
// separated by commas. Each flag has such a variable. Passwords are never printed. redlockctl help
// explains the exit codes, and docs/running.md has more.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// streams are the standard streams. They are files, so that a command that is run gets them.
type streams struct{ in, out, err *os.File }

// say writes a line to standard error, where it doesn't mix with the output of a command. A server's
// error may quote the lock's value.
func (s streams) say(format string, args ...any) {
	fmt.Fprintln(s.err, quorum.Redact(fmt.Sprintf("redlockctl: "+format, args...)))
}

// command is one subcommand. It gets a client that is connected, and closed after it.
type command struct {
	name, args, summary string
	run                 func(ctx context.Context, c *client, o *options, s streams) error
	flags               func(flags *flag.FlagSet, o *options) // those of its own
	keys                int                                   // how many keys it takes at most
	all                 bool                                  // it needs none
	work                bool                                  // it runs the command after --
}

var commands = []command{
	{name: "verify", args: " [KEY...]", summary: "ask every server who it is and how it is set up, and say what is wrong", run: runVerify, flags: jsonFlag, keys: wire.MaxKeys, all: true},
	{name: "inspect", args: " KEY", summary: "say who has a lock, for how long, and how many processes wait for it", run: runInspect, flags: jsonFlag, keys: 1},
	{name: "lock", args: " KEY... -- COMMAND [ARGS]", summary: "run a command under a lock, and exit with its status", run: runLock, flags: lockFlags, keys: wire.MaxKeys, work: true},
	{name: "once", args: " JOB -- COMMAND [ARGS]", summary: "run a command if no other machine has begun the job of this time", run: runOnce, flags: onceFlags, keys: 1, work: true},
	{name: "elect", args: " NAME -- COMMAND [ARGS]", summary: "run a command on one of several machines at a time, on another one if that fails", run: runElect, flags: workFlags, keys: 1, work: true},
	{name: "release", args: " KEY", summary: "show who has a lock, and with -value delete it by hand", run: runRelease, flags: releaseFlags, keys: 1},
}

// run runs a command line, and returns the exit code.
func run(ctx context.Context, args []string, s streams) int {
	switch {
	case len(args) == 0:
		usage(s.err)
		return exitUsage
	case slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]):
		usage(s.out)
		return exitDone
	case args[0] == "version" && len(args) == 1:
		fmt.Fprintln(s.out, "redlockctl", quorum.Version(), runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
		return exitDone
	}
	i := slices.IndexFunc(commands, func(c command) bool { return c.name == args[0] })
	if i < 0 {
		s.say("there is no such command; redlockctl help lists them")
		return exitUsage
	}
	o, err := parse(commands[i], args[1:], s)
	if err == nil {
		var c *client
		if c, err = o.connect(s); err == nil {
			err = commands[i].run(ctx, c, o, s)
			c.close()
		}
	}
	if err != nil && err.Error() != "" {
		s.say("%s: %v", args[0], err)
	}
	return exitOf(err)
}

func usage(w io.Writer) {
	fmt.Fprint(w, `redlockctl looks at the servers of a lock and at its locks, and runs commands under a lock.

usage: redlockctl COMMAND [flags] ...

`)
	for _, c := range commands {
		fmt.Fprintf(w, "  %-35s %s\n", c.name+c.args, c.summary)
	}
	fmt.Fprintf(w, "  %-35s %s\n", "version", "print the version")
	fmt.Fprintf(w, `
redlockctl COMMAND -h lists a command's flags.

Each flag has an environment variable: that of -max-ttl is REDLOCK_MAX_TTL. A flag overrides it.

Servers are URLs, separated by commas, in -servers or better in %s:
other users can see arguments. Write a comma in a password as %%2C.
Give the same URLs, -max-ttl, -quorum and -set as your programs have.

Exit codes:
`, serversEnv)
	for _, e := range exits {
		fmt.Fprintf(w, "  %-10s %s\n", e.codes, e.meaning)
	}
}
