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
	servers, ca, set string
	quorum           int
	maxTTL, timeout  time.Duration
	fixed            bool

	json     bool     // verify and inspect
	rightsTo []string // verify: keys

	ttl, grace time.Duration // what runs a command
	owner      string

	wait       time.Duration // lock
	try, quiet bool
	places     int

	slot          string // once
	every, window time.Duration

	value string // release
	force bool

	keys    []string
	command []string
	from    map[string]string // what has set a flag: -ttl or REDLOCK_TTL
}

// newFlags are the flags of a command. Each says its environment variable.
func (c command) newFlags(o *options) *flag.FlagSet {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // an error is reported once, and without values
	flags.StringVar(&o.servers, "servers", "", "the servers' `URLs`, separated by commas")
	flags.DurationVar(&o.maxTTL, "max-ttl", 30*time.Second, "MaxTTL, as your programs have it")
	flags.IntVar(&o.quorum, "quorum", 0, "how many servers make a `quorum`, if more than a majority")
	flags.StringVar(&o.set, "set", "", "the set's `NAME@VERSION`, as your programs have it in Set")
	flags.StringVar(&o.ca, "ca", "", "a PEM `file` with the CA of the servers' certificates, for rediss://")
	flags.DurationVar(&o.timeout, "timeout", 0, "how long a server may take to answer (default: a hundredth of -ttl, but 50ms to 500ms; without -ttl 1s)")
	flags.BoolVar(&o.fixed, "fixed-address", false, "no server's address ever leads to another server: then -ttl may be as long as -max-ttl")
	c.flags(flags, o)
	flags.VisitAll(func(f *flag.Flag) { f.Usage += " [" + envOf(f.Name) + "]" })
	return flags
}

func jsonFlag(flags *flag.FlagSet, o *options) {
	flags.BoolVar(&o.json, "json", false, "print JSON for programs")
}

// parse reads the arguments of a command, and the environment.
func parse(c command, args []string, s streams) (*options, error) {
	o := &options{from: map[string]string{}}
	flags := c.newFlags(o)
	if c.work {
		i := slices.Index(args, "--")
		if i < 0 && !slices.ContainsFunc(args, isHelp) {
			return nil, badUsage("-- and a command are missing, as in redlockctl %s report -- ./report.sh", c.name)
		}
		if i >= 0 {
			args, o.command = args[:i], args[i+1:]
		}
	}
	err := o.readArguments(c, flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(s.out)
		fmt.Fprintf(s.out, "usage: redlockctl %s [flags]%s\n%s.\n", c.name, c.args, c.summary)
		flags.PrintDefaults()
		return nil, err
	case err != nil:
		return nil, err
	}
	if err := o.readEnvironment(flags); err != nil {
		return nil, err
	}
	if c.keys > 0 && len(o.keys) == 0 {
		return nil, badUsage("which lock? Name its key, as in redlockctl %s orders:42", c.name)
	}
	return o, o.validate(c)
}

// readArguments reads flags and keys. Flags may stand before and after the keys.
func (o *options) readArguments(c command, flags *flag.FlagSet, args []string) error {
	for {
		err := flags.Parse(args)
		switch {
		case errors.Is(err, flag.ErrHelp):
			return err
		case err != nil:
			return badUsage("%s; redlockctl %s -h lists the flags", withoutSecrets(withUnit(flags, err.Error())), c.name)
		case flags.NArg() == 0:
			flags.Visit(func(f *flag.Flag) { o.from[f.Name] = "-" + f.Name })
			return nil
		case len(o.keys) == c.keys:
			return badUsage("%s is one argument too many; give servers by -servers or REDLOCK_SERVERS", shown(flags.Arg(0)))
		}
		o.keys, args = append(o.keys, flags.Arg(0)), flags.Args()[1:]
	}
}

const wantUnit = ", want a time with its unit, such as 10s"

// wrongValue is package flag's error of a value that it can't read.
var wrongValue = regexp.MustCompile(`^invalid value (.*) for flag -(\S+): parse error$`)

// withUnit is package flag's error, which doesn't say that a time needs a unit.
func withUnit(flags *flag.FlagSet, text string) string {
	if parts := wrongValue.FindStringSubmatch(text); parts != nil && isTime(flags.Lookup(parts[2])) {
		return "-" + parts[2] + " is " + parts[1] + wantUnit
	}
	return text
}

func isTime(f *flag.Flag) bool {
	value, ok := f.Value.(flag.Getter)
	if !ok {
		return false
	}
	_, ok = value.Get().(time.Duration)
	return ok
}

// readEnvironment sets the flags that the command line doesn't have.
func (o *options) readEnvironment(flags *flag.FlagSet) (err error) {
	if name := unknownVariable(); name != "" {
		return badUsage("%s is no setting of redlockctl: redlockctl COMMAND -h lists them; correct its name, or unset it", name)
	}
	flags.VisitAll(func(f *flag.Flag) {
		name := envOf(f.Name)
		value := os.Getenv(name)
		if err != nil || value == "" || o.isGiven(f.Name) {
			return
		}
		switch wrong := flags.Set(f.Name, value); {
		case wrong == nil:
		case isTime(f):
			err = badUsage("%s is %s%s", name, shown(value), wantUnit)
		default:
			err = badUsage("%s is %s: %s", name, shown(value), withoutSecrets(wrong.Error()))
		}
		o.from[f.Name] = name
	})
	return err
}

// Kubernetes sets such variables for a service with the name redlock, or redlock-0.
var kubernetesVariable = regexp.MustCompile(`_(SERVICE|PORT)(_|$)`)

// unknownVariable is an environment variable that looks like a setting of redlockctl, and is none. "" if there
// is none.
func unknownVariable() string {
	known := []string{keyEnv, tokenEnv, deadlineEnv} // under another redlockctl
	for _, c := range commands {
		c.newFlags(&options{}).VisitAll(func(f *flag.Flag) { known = append(known, envOf(f.Name)) })
	}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if value != "" && strings.HasPrefix(name, envPrefix) && !slices.Contains(known, name) && !kubernetesVariable.MatchString(name) {
			return name
		}
	}
	return ""
}

func (o *options) isGiven(flag string) bool { return o.from[flag] != "" }

// name is how the user has set a flag.
func (o *options) name(flag string) string { return cmp.Or(o.from[flag], "-"+flag) }

// validate checks what package quorum doesn't.
func (o *options) validate(c command) error {
	for _, key := range slices.Concat(o.keys, o.rightsTo) {
		if strings.Contains(key, "redis://") || strings.Contains(key, "rediss://") || strings.Contains(key, "unix://") {
			return badUsage("the key is a URL; give servers by -servers or %s", serversEnv)
		}
		if err := quorum.ValidateKey(key); err != nil {
			return exitError{exitUsage, err}
		}
	}
	if o.timeout < 0 || o.isGiven("timeout") && o.timeout == 0 {
		return badUsage("%s is %v, want more than 0", o.name("timeout"), o.timeout)
	}
	if c.work {
		if err := checkWork(o); err != nil {
			return err
		}
	}
	if c.check == nil {
		return nil
	}
	return c.check(o)
}
