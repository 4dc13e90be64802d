package testbed

import (
	"errors"
	"fmt"
	"os"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/matrix"
	"github.com/redquorum/redlock/simulation/internal/report"
)

// width is the width of the table in columns.
const width = 100

// table computes and prints the rows of the matrix and the curves.
func (b *bench) table(args []string) error {
	var names []string
	for _, d := range designs.Registered() {
		names = append(names, d.Name)
	}
	plan := matrix.PlanFor(names...)
	page := ""
	b.flags.Uint64Var(&plan.Seeds, "seeds", plan.Seeds, "the number of seeds of each cell")
	b.flags.Uint64Var(&plan.CurveSeeds, "curve-seeds", plan.CurveSeeds, "the number of seeds of each point of the curves, 0 for no curves")
	b.flags.StringVar(&page, "html", "testbed.html", "the `file` for the page with curves and timelines, \"\" for none")
	if _, err := b.parse(args, ""); err != nil {
		return err
	}
	r, err := matrix.Play(b.ctx, plan, matrix.Pool{Workers: b.workers, Command: start(player)})
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "The share of %d runs with a violation\n\n", plan.Seeds)
	if err := r.Matrix().Table(b.out, width); err != nil {
		return err
	}
	if plan.CurveSeeds > 0 {
		fmt.Fprintln(b.out)
		if err := r.CurveTable(b.out); err != nil {
			return err
		}
	}
	if page == "" {
		return nil
	}
	return b.page(page, r)
}

// page writes the page.
func (b *bench) page(path string, r matrix.Result) error {
	timelines, err := r.Timelines()
	if err != nil {
		return err
	}
	content := report.Report{Title: "Your lock under faults", Runs: r.Runs, Matrix: r.Matrix(), Curves: r.Curves(), Unreached: r.Unreached()}
	timelines.Link(&content)
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(report.HTML(file, content), file.Close()); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\nThe page with curves and timelines: %s\n", path)
	return nil
}
