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

// run performs one run of a fault or a scenario, and prints its timeline.
func (b *bench) run(args []string) error {
	path := ""
	b.flags.Uint64Var(&b.seed, "seed", 0, "the seed")
	b.flags.StringVar(&path, "schedule", "", "a `file` with other faults, see simulation.ReadSchedule")
	name, err := b.parse(args, "fault or scenario")
	if err != nil {
		return err
	}
	d, err := designs.ByName(b.design)
	if err != nil {
		return err
	}
	p, err := byName(name)
	if err != nil {
		return err
	}
	var r simulation.Result
	if path == "" {
		r, err = p.Play(b.seed, d)
	} else {
		r, err = b.playFile(p, d, path)
	}
	if err != nil {
		return err
	}
	if err := b.timeline(fmt.Sprintf("%s · %s · seed %d", name, d.Name, b.seed), r); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\nfound: %v\n", r.Kinds())
	return nil
}

// playFile performs a run with the faults in a file.
func (b *bench) playFile(p playable, d designs.Design, path string) (simulation.Result, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return simulation.Result{}, err
	}
	schedule, err := simulation.ReadSchedule(text)
	if err != nil {
		return simulation.Result{}, err
	}
	return p.PlaySchedule(b.seed, d, schedule)
}

// playable is a fault or a scenario.
type playable interface {
	Play(seed uint64, d designs.Design) (simulation.Result, error)
	PlaySchedule(seed uint64, d designs.Design, schedule simulation.Schedule) (simulation.Result, error)
}

func byName(name string) (playable, error) {
	s, noScenario := scenarios.ByID(name)
	if noScenario == nil {
		return s, nil
	}
	f, noFault := matrix.ByName(name)
	if noFault == nil {
		return f, nil
	}
	return nil, errors.Join(noScenario, noFault)
}
