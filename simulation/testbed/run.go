package testbed

import (
	"errors"
	"fmt"
	"os"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/matrix"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

// run plays one run of a fault or a scenario, and tells what happens in it.
func (b *bench) run(args []string) error {
	path := ""
	b.flags.Uint64Var(&b.seed, "seed", 0, "the seed")
	b.flags.StringVar(&path, "schedule", "", "a `file` with the faults to play instead, see simulation.ReadSchedule")
	name, err := b.parse(args, "fault or scenario")
	if err != nil {
		return err
	}
	d, err := designs.ByName(b.design)
	if err != nil {
		return err
	}
	play, err := played(name)
	if err != nil {
		return err
	}
	var schedule simulation.Schedule
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if schedule, err = simulation.ReadSchedule(text); err != nil {
			return err
		}
	}
	r, err := play(b.seed, d, path != "", schedule)
	if err != nil {
		return err
	}
	if err := b.tell(fmt.Sprintf("%s · %s · seed %d", name, d.Name, b.seed), r); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\nfound: %v\n", r.Kinds())
	return nil
}

// playing plays a run, with a schedule of its own or another one.
type playing func(seed uint64, d designs.Design, other bool, schedule simulation.Schedule) (simulation.Result, error)

// played finds what a name means.
func played(name string) (playing, error) {
	s, noScenario := scenarios.ByID(name)
	if noScenario == nil {
		return func(seed uint64, d designs.Design, other bool, schedule simulation.Schedule) (simulation.Result, error) {
			if other {
				return s.PlaySchedule(seed, d, schedule)
			}
			return s.Play(seed, d)
		}, nil
	}
	f, noFault := matrix.ByName(name)
	if noFault == nil {
		return func(seed uint64, d designs.Design, other bool, schedule simulation.Schedule) (simulation.Result, error) {
			if other {
				return f.PlaySchedule(seed, d, schedule)
			}
			return f.Play(seed, d)
		}, nil
	}
	return nil, errors.Join(noScenario, noFault)
}
