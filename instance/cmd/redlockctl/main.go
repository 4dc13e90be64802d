// Command redlockctl looks at the servers of a lock and at its locks, and runs commands under a
// lock.
//
//	redlockctl verify                       are the servers fit for locks?
//	redlockctl inspect orders:42            who has the lock, for how long, and who waits?
//	redlockctl lock report -- ./report.sh   run a command under the lock
//	redlockctl release orders:42            delete a lock by hand, after checks
//
// The servers are given by -servers or in the environment variable REDLOCK_SERVERS, as URLs
// separated by commas. REDLOCK_MAX_TTL, REDLOCK_QUORUM and REDLOCK_SET are the defaults of -max-ttl,
// -quorum and -set. Passwords are never printed. docs/running.md has more, and the exit codes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/redquorum/redlock/quorum"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// streams are the standard streams. They are files, so that a command that is run gets them.
type streams struct{ in, out, err *os.File }

// say writes a line to standard error, where it doesn't mix with the output of a command. A server's
// error may quote the lock's value.
func (s streams) say(format string, args ...any) {
	//guard:command-hides-values  redlockctl doesn't print the value of its lock
	fmt.Fprintln(s.err, quorum.Redact(fmt.Sprintf("redlockctl: "+format, args...)))
}

// command is one subcommand. It gets a client that is connected, and closed after it.
type command struct {
	name, args, summary string
	run                 func(ctx context.Context, c *client, o *options, s streams) error
	flags               func(flags *flag.FlagSet, o *options) // those of its own
	key                 bool                                  // it takes a key
	command             bool                                  // it takes a command after --, and a lock
}

var commands = []command{
	{name: "verify", summary: "ask every server who it is and how it is set up, and say what is wrong", run: runVerify, flags: jsonFlag},
	{name: "inspect", args: " KEY", summary: "say who has a lock, for how long, and how many processes wait for it", run: runInspect, flags: jsonFlag, key: true},
	{name: "lock", args: " KEY -- COMMAND [ARGS]", summary: "run a command under a lock, and exit with its status", run: runLock, flags: lockFlags, key: true, command: true},
	{name: "release", args: " KEY", summary: "show who has a lock, and with -value or -force delete it by hand", run: runRelease, flags: releaseFlags, key: true},
}

// badUsage is a mistake on the command line, or in the settings.
func badUsage(format string, args ...any) error {
	return exitError{exitUsage, fmt.Errorf(format, args...)}
}

// run runs a command line, and returns the exit code.
func run(ctx context.Context, args []string, s streams) int {
	switch {
	case len(args) == 0:
		usage(s.err)
		return exitUsage
	case args[0] == "help" || isHelp(args[0]):
		usage(s.out)
		return exitDone
	case args[0] == "version" && len(args) == 1:
		fmt.Fprintln(s.out, version())
		return exitDone
	}
	i := slices.IndexFunc(commands, func(c command) bool { return c.name == args[0] })
	if i < 0 {
		s.say("there is no command %s; redlockctl help lists them", shown(args[0]))
		return exitUsage
	}
	c := commands[i]
	err := c.start(ctx, args[1:], s)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitDone
	case err != nil && err.Error() != "":
		s.say("%s: %v", c.name, err)
	}
	return exitOf(err)
}

// start runs a command with its arguments.
func (c command) start(ctx context.Context, args []string, s streams) error {
	o, err := parse(c, args, s)
	if err != nil {
		return err
	}
	client, err := o.connect(s)
	if err != nil {
		return err
	}
	defer client.close()
	return c.run(ctx, client, o, s)
}

// parse reads the arguments of a command. Flags may stand before and after the key.
func parse(c command, args []string, s streams) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // an error is reported once, and without values
	o.register(flags)
	c.flags(flags, o)
	if c.command {
		i := slices.Index(args, "--")
		if i < 0 && !slices.ContainsFunc(args, isHelp) {
			return nil, badUsage("-- and a command are missing, as in redlockctl lock %s -- ./report.sh", "report")
		}
		if i >= 0 {
			args, o.command = args[:i], args[i+1:]
		}
	}
	keys := 0
	for {
		err := flags.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(s.out)
			fmt.Fprintf(s.out, "usage: redlockctl %s [flags]%s\n%s.\n", c.name, c.args, c.summary)
			flags.PrintDefaults()
			return nil, err
		}
		if err != nil {
			return nil, badUsage("%s; redlockctl %s -h lists the flags", withoutSecrets(err.Error()), c.name)
		}
		if flags.NArg() == 0 {
			break
		}
		if keys++; !c.key || keys > 1 {
			return nil, badUsage("%s is one argument too many; give servers by -servers or REDLOCK_SERVERS", shown(flags.Arg(0)))
		}
		o.key, args = flags.Arg(0), flags.Args()[1:]
	}
	flags.Visit(func(f *flag.Flag) { o.given = append(o.given, f.Name) })
	for _, name := range settings {
		value := os.Getenv(envOf(name))
		if value == "" || o.isGiven(name) {
			continue
		}
		if err := flags.Set(name, value); err != nil {
			return nil, badUsage("%s is %s: %s", envOf(name), shown(value), withoutSecrets(err.Error()))
		}
	}
	if c.key && keys == 0 {
		return nil, badUsage("which lock? Name its key, as in redlockctl %s orders:42", c.name)
	}
	return o, o.validate(c)
}

// version names this program's version, as the go command has noted it, and the toolchain's.
func version() string {
	own := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		own = info.Main.Version
	}
	return fmt.Sprintf("redlockctl %s %s %s/%s", own, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func isHelp(arg string) bool { return slices.Contains([]string{"-h", "-help", "--help"}, arg) }

// shown is an argument in an error, unless it may have a password in it.
func shown(arg string) string {
	if isURL(arg) || strings.Contains(arg, "@") {
		return "a URL"
	}
	return fmt.Sprintf("%q", arg)
}

// isURL reports whether a text is a URL, which may lack its slashes.
func isURL(text string) bool {
	return strings.Contains(text, "://") || strings.HasPrefix(text, "redis:") || strings.HasPrefix(text, "rediss:")
}

// innermost is what err comes from, without the names of files around it, which may be URLs.
func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// withoutSecrets is an error of package flag without values that may be URLs.
func withoutSecrets(text string) string {
	if isURL(text) || strings.Contains(text, "@") {
		return "a flag has a value that it can't have"
	}
	return text
}

func usage(w io.Writer) {
	fmt.Fprint(w, `redlockctl looks at the servers of a lock and at its locks, and runs commands under a lock.

usage: redlockctl COMMAND [flags] ...

`)
	for _, c := range commands {
		fmt.Fprintf(w, "  %-30s %s\n", c.name+c.args, c.summary)
	}
	fmt.Fprintf(w, "  %-30s %s\n", "version", "print the version")
	fmt.Fprintf(w, `
redlockctl COMMAND -h lists a command's flags.

Servers are URLs, separated by commas, in -servers or better in the environment variable
%s: arguments can be seen by other users. Write a comma in a password as %%2C.
Give the same URLs, -max-ttl, -quorum and -set as your programs have. REDLOCK_MAX_TTL, REDLOCK_QUORUM
and REDLOCK_SET are their defaults.

Exit codes:
`, serversEnv)
	for _, e := range exits {
		fmt.Fprintf(w, "  %-10s %s\n", e.codes, e.meaning)
	}
}
