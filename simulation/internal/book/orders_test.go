package book_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
// the other. That takes half an hour, so the test that writes it plays only the beginning.
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

// walkedOrders has a table for each number of servers: faults in rows, worlds in columns.
func walkedOrders() (string, error) {
	all, err := recordedOrders()
	if err != nil {
		return "", err
	}
	type cells map[string]map[string]string // by fault and world
	tables, faults, worlds := map[int]cells{}, map[int][]string{}, map[int][]string{}
	var sizes []int
	total, took, cut := uint64(0), time.Duration(0), uint64(0)
	for _, r := range all {
		size := r.Plan.Size.Servers
		if tables[size] == nil {
			tables[size] = cells{}
			sizes = append(sizes, size)
		}
		for _, row := range r.Rows {
			total, took, cut = total+row.Runs, took+row.Took, cut+row.Cut
		}
		for _, row := range inOneRow(r) {
			if tables[size][row.Faults] == nil {
				tables[size][row.Faults] = map[string]string{}
				faults[size] = append(faults[size], row.Faults)
			}
			if !slices.Contains(worlds[size], row.World) {
				worlds[size] = append(worlds[size], row.World)
			}
			if at := tables[size][row.Faults]; at[row.World] == "" || row.Open == 0 { // it may be in two records
				at[row.World] = cell(row)
			}
		}
	}
	var b strings.Builder
	for _, size := range sizes {
		var rows [][]string
		for _, fault := range faults[size] {
			row := []string{fault}
			for _, world := range worlds[size] {
				row = append(row, tables[size][fault][world])
			}
			rows = append(rows, row)
		}
		servers := "servers"
		if size == 1 {
			servers = "server"
		}
		fmt.Fprintf(&b, "%s\n", table(fmt.Sprintf("%d %s | `%s`", size, servers, strings.Join(worlds[size], "` | `")), rows))
	}
	fmt.Fprintf(&b, "%s orders in %v of one processor, and %s more that were cut off because they showed nothing new.",
		thousands(total), took.Round(time.Second), thousands(cut))
	return b.String(), nil
}

// cell is the number of orders, whether there are more, and short words for what was found.
func cell(row orders.Row) string {
	text := thousands(row.Runs)
	if row.Open > 0 {
		text = "> " + text
	}
	for _, found := range slices.Sorted(slices.Values(row.Found)) {
		kind, assumption, excused := strings.Cut(strings.TrimSuffix(found, ")"), " (assumption ")
		short, known := map[string]string{string(record.Overvalued): "V", string(record.TwoHolders): "H"}[kind]
		if !excused || !known {
			short = "**" + found + "**"
		}
		text += " " + short + assumption
	}
	return text
}

// inOneRow returns the rows of a record. All pairs of faults are in one row for each world, and nothing else
// of their record is shown: it is in the records of single faults.
func inOneRow(r orders.Record) []orders.Row {
	if !r.Plan.Pairs {
		return r.Rows
	}
	name := "two of " + strings.Join(kindNames(r.Plan), ", ")
	if len(r.Plan.Faults) == len(orders.Kinds()) {
		name = "two of all these faults"
	}
	var rows []orders.Row
	for _, row := range r.Rows {
		if !strings.Contains(row.Faults, " + ") {
			continue
		}
		at := slices.IndexFunc(rows, func(o orders.Row) bool { return o.World == row.World })
		if at < 0 {
			at = len(rows)
			rows = append(rows, orders.Row{World: row.World, Faults: name})
		}
		sum := &rows[at]
		sum.Open, sum.Runs = sum.Open+row.Open, sum.Runs+row.Runs
		for _, f := range row.Found {
			if !slices.Contains(sum.Found, f) {
				sum.Found = append(sum.Found, f)
			}
		}
	}
	return rows
}

// kindNames are the names of a plan's kinds of faults.
func kindNames(p orders.Plan) (names []string) {
	for _, k := range p.Faults {
		names = append(names, string(k))
	}
	return names
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
