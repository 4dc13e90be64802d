package book_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/orders"
	"github.com/redquorum/redlock/simulation/internal/timeline"
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

// walkedOrders has a row for each kind of fault, a column for each number of servers, and what was found.
func walkedOrders() (string, error) {
	all, err := recordedOrders()
	if err != nil {
		return "", err
	}
	type sum struct {
		orders      int64
		walks, open int
		found       []string
	}
	sums, faults, seen := map[string]*[4]sum{}, []string{}, map[string]bool{}
	total, took := int64(0), time.Duration(0)
	for _, r := range all {
		for _, row := range r.Rows {
			total, took = total+int64(row.Runs), took+row.Took
			fault, walk := row.Faults, fmt.Sprint(row.World, row.Faults, r.Plan.Size)
			if strings.Contains(fault, " + ") {
				fault = "two faults"
			}
			if seen[walk] {
				continue // it was played with other faults again
			}
			seen[walk] = true
			if sums[fault] == nil {
				sums[fault] = &[4]sum{}
				faults = append(faults, fault)
			}
			s := &sums[fault][r.Plan.Size.Servers]
			s.orders, s.walks, s.open, s.found = s.orders+int64(row.Runs), s.walks+row.Walks, s.open+row.Open, append(s.found, row.Found...)
		}
	}
	var rows [][]string
	for _, fault := range faults {
		row, found := []string{fault}, []string{}
		for _, s := range sums[fault][1:] {
			row = append(row, fmt.Sprintf("%s, %d of %d", timeline.Grouped(s.orders), s.walks-s.open, s.walks))
			found = append(found, s.found...)
		}
		slices.Sort(found)
		rows = append(rows, append(row, strings.Join(slices.Compact(found), "<br>")))
	}
	return fmt.Sprintf("%s\n%s orders in %v of one processor.", table("fault | 1 server | 2 servers | 3 servers | found", rows), timeline.Grouped(total), took.Round(time.Second)), nil
}

// In the recorded walks nothing was found without a broken assumption.
func TestRecordedOrders(t *testing.T) {
	all, err := recordedOrders()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, r := range all {
		require.Equal(t, "default", r.Plan.Design)
		for _, row := range r.Rows {
			require.True(t, row.Runs > 0 || row.Open > 0, "%s with %s: no order, and none that is left", row.World, row.Faults)
			for _, found := range row.Found {
				assert.Contains(t, found, "(assumption ", "%s with %s", row.World, row.Faults)
			}
		}
	}
}
