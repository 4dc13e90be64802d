package wire

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Set identifies the set of instances that a client uses: the fingerprint in each
// server's mark. Two clients that disagree on the set can both win a majority, each
// of its own; so those whose Set differs from the mark's are refused (scenario S14).
//
// It has MaxTTL as well, because an instance that lost its data stays out of the voting for that
// long: a client with a shorter MaxTTL would end that before the other clients' leases have
// expired.
//
// The operator gives Name and Version. The other fields follow from the configuration.
type Set struct {
	// Name names the set: up to 64 characters of A-Z a-z 0-9 . _ -
	// May be empty.
	Name string
	// Version is raised by the operator with every change of the set. A higher
	// one takes over, a lower one is refused.
	Version uint64
	// N is the number of instances and Q the quorum.
	N, Q int
	// MaxTTL is Config.MaxTTL.
	MaxTTL time.Duration
}

// maxSetName is the longest Set.Name, in bytes.
const maxSetName = 64

// String writes the set as the instances keep it: "name@version N=5 Q=3 MaxTTL=30s".
func (s Set) String() string {
	//guard:set-has-max-ttl  clients that disagree on MaxTTL disagree on the set
	return s.Name + "@" + strconv.FormatUint(s.Version, 10) + " N=" + strconv.Itoa(s.N) + " Q=" + strconv.Itoa(s.Q) + " MaxTTL=" + s.MaxTTL.String()
}

// ParseSet reads what Set.String writes.
func ParseSet(text string) (Set, error) {
	name, rest, ok := strings.Cut(text, "@")
	fields := strings.Split(rest, " ")
	if !ok || len(fields) != 4 || !strings.HasPrefix(fields[1], "N=") || !strings.HasPrefix(fields[2], "Q=") || !strings.HasPrefix(fields[3], "MaxTTL=") {
		return Set{}, fmt.Errorf("quorum: %q is not a set's fingerprint, want %q", text, "name@version N=5 Q=3 MaxTTL=30s")
	}
	version, err1 := strconv.ParseUint(fields[0], 10, 64)
	n, err2 := strconv.Atoi(fields[1][2:])
	q, err3 := strconv.Atoi(fields[2][2:])
	maxTTL, err4 := time.ParseDuration(fields[3][len("MaxTTL="):])
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		return Set{}, fmt.Errorf("quorum: %q is not a set's fingerprint: its numbers can't be read", text)
	}
	s := Set{Name: name, Version: version, N: n, Q: q, MaxTTL: maxTTL}
	if err := s.ValidateName(); err != nil {
		return Set{}, err
	}
	// One spelling only: the servers compare the text.
	if s.String() != text {
		return Set{}, fmt.Errorf("quorum: %q is not a set's fingerprint, its plain form is %q", text, s)
	}
	return s, nil
}

// Supersedes reports whether a client with s may take over a server whose mark has
// old: the same name and a higher version.
func (s Set) Supersedes(old Set) bool { return s.Name == old.Name && s.Version > old.Version }

// ValidateName checks the name. The error Is ErrConfig.
func (s Set) ValidateName() error {
	if len(s.Name) > maxSetName {
		return fmt.Errorf("%w: Set.Name has %d bytes, at most %d are allowed", ErrConfig, len(s.Name), maxSetName)
	}
	for i := range len(s.Name) {
		c := s.Name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && c != '.' && c != '_' && c != '-' {
			return fmt.Errorf("%w: Set.Name %q has the character %q, use letters, digits and . _ -", ErrConfig, s.Name, c)
		}
	}
	return nil
}
