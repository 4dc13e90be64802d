package instance

import (
	"errors"
	"fmt"
	"slices"

	"github.com/redquorum/redlock/quorum/wire"
)

// Group is several instances that were opened together. A nil or zero Group has none.
type Group struct{ members []*Redis }

func (g *Group) all() []*Redis {
	if g == nil {
		return nil
	}
	return g.members
}

// OpenAll opens an instance for each URL, as Open does, or none. redlock.Open does the same with
// the zero Config, and also makes the Coordinator. Each instance gets its address as its name. So
// cfg.Name must be empty, and so must cfg.VouchedRunID, which belongs to one server.
//
// The same address twice is an error, in any spelling and with any database, because one
// server has one vote. Two names of one server are found by its run ID when they are probed.
func OpenAll(cfg Config, urls ...string) (*Group, error) {
	switch {
	case len(urls) == 0:
		return nil, fmt.Errorf("%w: no URLs were given; a quorum needs at least one instance", ErrConfig)
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

// Instances returns the instances for a Coordinator, in the order of the URLs.
func (g *Group) Instances() []wire.Instance {
	instances := make([]wire.Instance, len(g.all()))
	for i, r := range g.all() {
		instances[i] = r
	}
	return instances
}

// Members returns the instances with their own type, in the order of the URLs.
func (g *Group) Members() []*Redis { return slices.Clone(g.all()) }

// Close closes all clients and joins their errors. Close the Coordinator first, or set
// quorum.Config.CloseAlso to the group, and the Coordinator closes it.
func (g *Group) Close() error {
	var errs []error
	for _, r := range g.all() {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}
