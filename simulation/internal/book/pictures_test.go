package book_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/picture"
)

func init() {
	draw := func(name string, make func() (*picture.Picture, error)) {
		generatedFiles["figures/"+name+".svg"] = func() ([]byte, error) {
			p, err := make()
			if err != nil {
				return nil, err
			}
			return p.SVG(), nil
		}
	}
	words := func(p *picture.Picture) func() (*picture.Picture, error) {
		return func() (*picture.Picture, error) { return p, nil }
	}
	draw("round", picture.Round)
	draw("quarantine", picture.Quarantine)
	draw("lease", words(picture.Lease()))
	draw("domains", words(picture.Domains()))
	draw("decision", words(picture.Decision()))
	draw("heat", heat)
}

// heat is the matrix in four groups of rows, with the designs that a reader chooses from.
func heat() (*picture.Picture, error) {
	r, err := recorded()
	if err != nil {
		return nil, err
	}
	columns := []string{"setpx-cad", "redlock", "default", "token-admit", "idempotent"}
	at := map[string]map[string]float64{}
	for i, design := range r.Matrix.Designs {
		at[design.Name] = map[string]float64{}
		for j, fault := range r.Matrix.Faults {
			at[design.Name][fault.Name] = -1
			if c := r.Matrix.Cells[i][j]; c.Runs > 0 {
				at[design.Name][fault.Name] = float64(c.Violated) / float64(c.Runs)
			}
		}
	}
	drawn := 0
	groups := []picture.Group{{Title: "Clients stop"}, {Title: "Clocks are wrong"}, {Title: "Servers forget"}, {Title: "Messages are late, lost, or come twice"}}
	for i, faults := range [][]string{
		{"slow", "pause", "suspend", "crash"},
		{"step-client", "step-server", "rate-small", "rate"},
		{"restart-empty", "restart-1sec", "restart-kept", "failover", "split-brain", "evict", "flush"},
		{"hang", "cut", "lose", "delay", "duplicate", "reconnect", "delay-write", "duplicate-write"},
	} {
		for _, fault := range faults {
			row := picture.Row{Name: fault}
			for _, design := range columns {
				share, ok := at[design][fault]
				if !ok {
					return nil, fmt.Errorf("the matrix has no %s under %s", design, fault)
				}
				row.Shares = append(row.Shares, share)
			}
			groups[i].Rows = append(groups[i].Rows, row)
			drawn++
		}
	}
	if drawn != len(r.Matrix.Faults)-1 { // all of them together is no fault of its own
		return nil, fmt.Errorf("the picture has %d faults, and the matrix %d", drawn, len(r.Matrix.Faults))
	}
	return picture.Heat("How many of 100 runs harm something",
		"Shares of runs with a violation, by fault and design. The full table is on the same page, in words.", columns, groups), nil
}

// Every picture is drawn by the code and shown on a page.
func TestFigures(t *testing.T) {
	shown := map[string]bool{}
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile(`\]\([^)]*?(figures/[a-z-]+\.svg)\)`).FindAllStringSubmatch(string(text), -1) {
			assert.Contains(t, generatedFiles, found[1], "%s shows a picture that nothing draws", page)
			shown[found[1]] = true
		}
	}
	files, err := filepath.Glob("figures/*.svg")
	require.NoError(t, err)
	for _, file := range files {
		assert.True(t, shown[filepath.ToSlash(file)], "no page shows %s", file)
	}
}
