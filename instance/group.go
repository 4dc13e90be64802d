package instance

import (
	"errors"
	"fmt"

	"github.com/redquorum/redlock/quorum/wire"
)

// Group is several instances that were opened together.
type Group struct{ members []*Redis }

// OpenAll opens an instance for each URL, as Open does, or none. Each is named
// by its address, so cfg.Name must be empty, and so must cfg.VouchedRunID, which
// can be one server's only.
//
// The same address twice is an error, in whatever spelling and with whatever
// database: one server has one vote. Two names of one server are found by
// Probe, as it tells its run id.
func OpenAll(cfg Config, urls ...string) (*Group, error) {
	switch {
	case len(urls) == 0:
		return nil, fmt.Errorf("%w: no URLs were given, a quorum takes at least one instance", ErrConfig)
	case cfg.Name != "":
		return nil, fmt.Errorf("%w: Config.Name is %q, but each of %d instances needs a name of its own; leave it empty", ErrConfig, cfg.Name, len(urls))
	case cfg.VouchedRunID != "":
		return nil, fmt.Errorf("%w: Config.VouchedRunID is one server's; leave it empty, or use Open for each", ErrConfig)
	}
	g := &Group{}
	seen := make(map[string]int, len(urls))
	for i, rawURL := range urls {
		r, err := Open(rawURL, cfg)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("URL %d of %d: %w", i+1, len(urls), err), g.Close())
		}
		g.members = append(g.members, r)
		if first, ok := seen[r.name]; ok {
			return nil, errors.Join(fmt.Errorf("%w: URLs %d and %d are both %s; list each server once", ErrURL, first+1, i+1, r.name), g.Close())
		}
		seen[r.name] = i
	}
	return g, nil
}

// Instances gives the instances for a Coordinator, in the order of the URLs.
func (g *Group) Instances() []wire.Instance {
	instances := make([]wire.Instance, len(g.members))
	for i, r := range g.members {
		instances[i] = r
	}
	return instances
}

// Members gives the instances as what they are, in the order of the URLs.
func (g *Group) Members() []*Redis { return append([]*Redis(nil), g.members...) }

// Close closes all clients and joins what goes wrong. Close the Coordinator
// first.
func (g *Group) Close() error {
	var errs []error
	for _, r := range g.members {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}
