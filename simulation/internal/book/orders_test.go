package book_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/orders"
	"github.com/redquorum/redlock/simulation/record"
)

func init() {
	generators["orders"] = func([]string) (string, error) { return walkedOrders() }
	generators["order-worlds"] = func([]string) (string, error) { return orderWorlds(), nil }
}

// ordersFile is how many orders of small worlds were played, and what was found: one record after
// the other, each with its plan.
//
// That takes an hour, so a test can't repeat it.
const ordersFile = "testdata/orders.json"

func recordedOrders() (all []orders.Record, err error) {
	file, err := os.Open(ordersFile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // nothing was written
	for decoder := json.NewDecoder(file); ; {
		var r orders.Record
		if err := decoder.Decode(&r); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
}

// orderWorlds is the list of the worlds.
func orderWorlds() string {
	var b strings.Builder
	for _, w := range orders.Worlds() {
		fmt.Fprintf(&b, "- `%s`: %s.\n", w.Name, w.Title)
	}
	return b.String()
}

// walkedOrders has a row for each kind of fault, and a column for each number of servers.
func walkedOrders() (string, error) {
	all, err := recordedOrders()
	if err != nil {
		return "", err
	}
	type size map[string]orders.Row // by world
	cells, faults := map[string]*[4]size{}, []string{}
	total, took := uint64(0), time.Duration(0)
	for _, r := range all {
		for _, row := range r.Rows {
			total, took = total+row.Runs, took+row.Took
		}
		for _, row := range inOneRow(r) {
			if cells[row.Faults] == nil {
				cells[row.Faults] = &[4]size{{}, {}, {}, {}}
				faults = append(faults, row.Faults)
			}
			walked := cells[row.Faults][*r.Plan.Changes.Servers]
			if _, twice := walked[row.World]; !twice || row.Open == 0 { // it may be in two records
				walked[row.World] = row
			}
		}
	}
	var rows [][]string
	for _, fault := range faults {
		row := []string{fault}
		for _, worlds := range cells[fault][1:] {
			row = append(row, cell(slices.Collect(maps.Values(worlds))))
		}
		rows = append(rows, row)
	}
	return fmt.Sprintf("%s\n%s orders in %v of one processor.", table("fault | 1 server | 2 servers | 3 servers", rows), thousands(total), took.Round(time.Second)), nil
}

// cell has the number of orders in all worlds, how many of the worlds were finished, and what was found.
func cell(worlds []orders.Row) string {
	runs, ended, found := uint64(0), 0, []string{}
	for _, row := range worlds {
		runs += row.Runs
		if row.Open == 0 {
			ended++
		}
		for _, f := range row.Found {
			if short := shortly(f); !slices.Contains(found, short) {
				found = append(found, short)
			}
		}
	}
	slices.Sort(found)
	return strings.TrimSpace(fmt.Sprintf("%s, %d of %d %s", thousands(runs), ended, len(worlds), strings.Join(found, " ")))
}

// shortly is a finding in short words, with its broken assumption.
func shortly(found string) string {
	kind, assumption, excused := strings.Cut(strings.TrimSuffix(found, ")"), " (assumption ")
	short, known := map[string]string{string(record.Overvalued): "V", string(record.TwoHolders): "H"}[kind]
	if !excused || !known {
		return "**" + found + "**"
	}
	return short + assumption
}

// inOneRow returns the rows of a record. All pairs of faults are in one row for each world, and nothing else
// of their record is shown: it is in the records of single faults.
func inOneRow(r orders.Record) []orders.Row {
	if !r.Plan.Pairs {
		return r.Rows
	}
	var rows []orders.Row
	for _, row := range r.Rows {
		if !strings.Contains(row.Faults, " + ") {
			continue
		}
		at := slices.IndexFunc(rows, func(o orders.Row) bool { return o.World == row.World })
		if at < 0 {
			at = len(rows)
			rows = append(rows, orders.Row{World: row.World, Faults: "two faults"})
		}
		sum := &rows[at]
		sum.Open, sum.Runs, sum.Found = sum.Open+row.Open, sum.Runs+row.Runs, append(sum.Found, row.Found...)
	}
	return rows
}

// thousands writes a number with spaces.
func thousands(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}

// In the recorded walks nothing was found without a broken assumption.
func TestRecordedOrders(t *testing.T) {
	all, err := recordedOrders()
	require.NoError(t, err)
	ended := map[string]bool{}
	for _, r := range all {
		require.Equal(t, "default", r.Plan.Design)
		for _, row := range r.Rows {
			require.True(t, row.Runs > 0 || row.Open > 0, "%s with %s: no order, and none that is left", row.World, row.Faults)
			for _, found := range row.Found {
				assert.Contains(t, found, "(assumption ", "%s with %s", row.World, row.Faults)
			}
			if row.Open == 0 {
				ended[row.Faults] = true
			}
		}
	}
	for _, what := range []string{"none", "crash", "pause", "restart without data", "promotion without the last second", "lost request", "lost reply", "stall", "step of a client's clock"} {
		assert.True(t, ended[what], "no walk with %q was finished in any world", what)
	}
}
