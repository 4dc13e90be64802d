//go:build unix

package box

import (
	"context"
	"maps"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// Member is a server of a Fleet, and what is done to it, as the Fleet tells it.
type Member struct {
	// Name is a letter: A, B, C.
	Name string `json:"name"`
	// Address is where clients reach it, host:port. It never changes.
	Address string `json:"address"`
	// Faults are those that are applied now, with their values.
	Faults map[string]FaultValues `json:"faults"`

	server *serverState
	link   *redisproc.Link
}

// told copies what there is to tell of members.
func told(members []*Member) []Member {
	all := []Member{}
	for _, m := range members {
		all = append(all, Member{Name: m.Name, Address: m.Address, Faults: maps.Clone(m.Faults)})
	}
	return all
}

func (m *Member) apply(ctx context.Context, fault string, v FaultValues) error {
	switch fault {
	case faultStop:
		if err := m.server.does(ctx, stop); err != nil {
			return err
		}
		delete(m.Faults, faultPause)
		if m.Faults[faultStop].Data == dataLost {
			v.Data = dataLost // what is lost stays lost
		}
		if real, err := m.server.real(); err == nil && v.Data == dataLost {
			if err := real.wipe(); err != nil {
				return err
			}
		}
	case faultPause:
		if err := m.server.does(ctx, hang); err != nil {
			return err
		}
	case faultCut:
		m.link.Cut()
	case faultDelay:
		m.link.Far(milliseconds(v))
	case faultClock:
		m.clock(milliseconds(v))
	case faultFlush:
		return m.server.command("FLUSHALL")
	}
	m.Faults[fault] = v
	return nil
}

func milliseconds(v FaultValues) time.Duration { return time.Duration(*v.MS) * time.Millisecond }

// clock sets the clock of a server that has one.
func (m *Member) clock(ahead time.Duration) {
	if real, err := m.server.real(); err == nil && real.machine != nil {
		real.machine.set(ahead)
	}
}

func (m *Member) heal(ctx context.Context, fault string) (err error) {
	switch fault {
	case faultStop:
		err = m.server.does(ctx, start)
	case faultPause:
		err = m.server.does(ctx, wake)
	case faultCut:
		m.link.Reopen()
	case faultDelay:
		m.link.Far(0)
	case faultClock:
		m.clock(0)
	}
	if err == nil {
		delete(m.Faults, fault)
	}
	return err
}
