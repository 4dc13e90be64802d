package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redlock/quorum"
)

// envPrefix begins the names of this program's environment variables.
const envPrefix = "REDLOCK_"

// envOf is the environment variable of a flag: that of -max-ttl is REDLOCK_MAX_TTL.
func envOf(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// serversEnv is the environment variable with the servers' URLs.
var serversEnv = envOf("servers")

// options are what the command line and the environment say.
type options struct {
	servers, ca     string
	set             quorum.Set
	quorum          int
	maxTTL, timeout time.Duration
	fixed           bool

	json bool // verify and inspect

	ttl, grace time.Duration // what runs a command
	owner      string

	wait   time.Duration // lock
	try    bool
	places uint

	slot          time.Time // once
	every, window time.Duration

	value string // release
	force bool

	keys    []string
	command []string
}

// newFlags are the flags of a command. Each says its environment variable.
func (c command) newFlags(o *options) *flag.FlagSet {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // an error is reported once
	flags.StringVar(&o.servers, "servers", "", "the servers' `URLs`, separated by commas")
	timeVar(flags, &o.maxTTL, "max-ttl", "MaxTTL, as your programs have it (default 30s)")
	flags.IntVar(&o.quorum, "quorum", 0, "how many servers make a `quorum`, if more than a majority")
	flags.Func("set", "the set's `NAME@VERSION`, as your programs have it in Set", o.parseSet)
	flags.StringVar(&o.ca, "ca", "", "a PEM `file` with the CA of the servers' certificates, for rediss://")
	timeVar(flags, &o.timeout, "timeout", "how long a server may take to answer (default: a hundredth of -ttl, but 50ms to 500ms; without -ttl 1s)")
	flags.BoolVar(&o.fixed, "fixed-address", false, "no server's address ever leads to another server: then -ttl may be as long as -max-ttl")
	c.flags(flags, o)
	flags.VisitAll(func(f *flag.Flag) { f.Usage += " [" + envOf(f.Name) + "]" })
	return flags
}

func jsonFlag(flags *flag.FlagSet, o *options) {
	flags.BoolVar(&o.json, "json", false, "print JSON for programs")
}

// timeVar defines a flag for a time. Without the flag it is 0.
func timeVar(flags *flag.FlagSet, d *time.Duration, name, usage string) {
	flags.Func(name, usage, func(text string) (err error) {
		if *d, err = time.ParseDuration(text); err != nil || *d <= 0 {
			return errors.New("want a time above 0 with its unit, such as 10s")
		}
		return nil
	})
}

// parseSet reads the set's NAME@VERSION, of which either may be missing.
func (o *options) parseSet(text string) (err error) {
	name, version, found := strings.Cut(text, "@")
	if found {
		o.set.Version, err = strconv.ParseUint(version, 10, 64)
	}
	if err != nil || strings.Contains(text, "://") {
		return errors.New("want a name, @ and a whole number, as in prod@7")
	}
	o.set.Name = name
	return nil
}

// quotedURL is a value with a URL, which may have a password, in an error of package flag.
var quotedURL = regexp.MustCompile(`"(?:[^"\\]|\\.)*://(?:[^"\\]|\\.)*"`)

// parse reads the environment, and the arguments of a command. Flags may stand before and after the keys.
func parse(c command, args []string, s streams) (*options, error) {
	o := &options{}
	flags := c.newFlags(o)
	var err error
	flags.VisitAll(func(f *flag.Flag) {
		if value := os.Getenv(envOf(f.Name)); value != "" && err == nil {
			if err = flags.Set(f.Name, value); err != nil {
				err = badUsage("%s: %w", envOf(f.Name), err)
			}
		}
	})
	if i := slices.Index(args, "--"); c.work && i >= 0 {
		args, o.command = args[:i], args[i+1:]
	}
	for more := true; more; {
		err := flags.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(s.out)
			fmt.Fprintf(s.out, "usage: redlockctl %s [flags]%s\n%s.\n", c.name, c.args, c.summary)
			flags.PrintDefaults()
			return nil, exitError{code: exitDone}
		}
		if err != nil {
			return nil, badUsage("%s; redlockctl %s -h lists the flags", quotedURL.ReplaceAllString(err.Error(), "with a URL"), c.name)
		}
		if more = flags.NArg() > 0; more {
			o.keys, args = append(o.keys, flags.Arg(0)), flags.Args()[1:]
		}
	}
	return o, cmp.Or(err, o.validate(c))
}

// validate checks what package quorum doesn't, and sets what a command needs.
func (o *options) validate(c command) error {
	o.maxTTL = cmp.Or(o.maxTTL, 30*time.Second)
	if len(o.keys) > c.keys {
		return badUsage("there are more arguments than %s takes; give servers by -servers or %s", c.name, serversEnv)
	}
	for _, key := range o.keys {
		if strings.Contains(key, "://") {
			return badUsage("the key is a URL; give servers by -servers or %s", serversEnv)
		}
		if err := quorum.ValidateKey(key); err != nil {
			return exitError{exitUsage, err}
		}
	}
	switch {
	case !c.all && len(o.keys) == 0:
		return badUsage("which lock? Name its key, as in redlockctl %s orders:42", c.name)
	case !c.work:
		return nil
	case len(o.command) == 0:
		return badUsage("the command is missing, as in redlockctl %s report -- ./report.sh", c.name)
	}
	o.ttl = cmp.Or(o.ttl, 10*time.Second)
	o.grace = cmp.Or(o.grace, o.ttl/3)
	if o.grace < o.ttl/50 || o.grace > o.ttl/2 {
		return badUsage("-grace is %v, want %v to %v, half of -ttl: a lease that is extended in time has more than that left", o.grace, o.ttl/50, o.ttl/2)
	}
	return nil
}
