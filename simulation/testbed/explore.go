package testbed

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/search"
)

// registry has the workloads of package search, and every design.
func registry() search.Registry {
	return search.Registry{Workloads: search.Workloads(), Designs: designs.All()}
}

// explore runs random schedules, and shrinks the first one for each kind of violation.
func (b *bench) explore(args []string) error {
	space := search.Space{Setup: search.Setup{Workload: "mixed"}, How: search.Draw}
	options := search.Options{Command: start(worker)}
	folder, faults := ".", ""
	b.flags.Uint64Var(&options.To, "seeds", 2000, "the number of seeds")
	b.flags.IntVar(&space.Most, "most", 6, "the largest number of faults in a run")
	b.flags.StringVar(&faults, "faults", "", "`kinds` of faults, separated by commas (default: all)")
	b.flags.StringVar(&folder, "out", folder, "the `folder` for replay files")
	if _, err := b.parse(args, ""); err != nil {
		return err
	}
	space.Design, options.Workers = b.design, b.workers
	for name := range strings.SplitSeq(faults, ",") {
		if name != "" {
			space.Faults = append(space.Faults, simulation.Kind(strings.TrimSpace(name)))
		}
	}
	found, err := search.Search(b.ctx, registry(), space, options)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "%d runs, violations in %d\n", found.Runs, found.Violating)
	for _, f := range found.Kinds() {
		if err := b.finding(f, folder); err != nil {
			return err
		}
	}
	return nil
}

// finding shrinks a finding, prints it and saves it.
func (b *bench) finding(f search.Finding, folder string) error {
	small, err := search.Shrink(b.ctx, registry(), f.Setup, f.Kind)
	if err != nil {
		return err
	}
	file, err := search.Record(registry(), small.Setup, f.Kind)
	if err != nil {
		return err
	}
	schedule, err := json.Marshal(small.Setup.Schedule)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("redlock-%s-%s-%s-%d.json", file.Workload, file.Design, strings.ReplaceAll(string(f.Kind), " ", "-"), file.Seed)
	path := filepath.Join(folder, name)
	fmt.Fprintf(b.out, "\n%s in %d runs, first with seed %d: %s\n  from %d faults to %d: %s\n  replay %s\n",
		f.Kind, f.Runs, f.Setup.Seed, f.Text, len(f.Setup.Schedule), len(small.Setup.Schedule), schedule, path)
	return file.Save(path)
}

// replay repeats the run of a file.
func (b *bench) replay(args []string) error {
	path, err := b.parse(args, "replay file")
	if err != nil {
		return err
	}
	file, err := search.Load(registry(), path)
	if err != nil {
		return err
	}
	again, err := file.Replay(b.ctx, registry())
	if err != nil {
		return err
	}
	if err := b.timeline(fmt.Sprintf("%s · %s · seed %d", file.Workload, file.Design, file.Seed), again.Result); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\nfound: %v; the same run, byte for byte: %v\n", again.Kinds(), again.Identical)
	return nil
}
