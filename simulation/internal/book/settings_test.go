package book_test

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// settingRow is a row of the tables in settings.md: a field, its default, and whether clients may differ in it.
var settingRow = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([^|]*) \\|[^|]*\\|$")

// The tables of settings have every field, once, with the default that New fills in.
func TestSettingsTable(t *testing.T) {
	page, err := os.ReadFile("settings.md")
	require.NoError(t, err)
	rows := map[string]string{}
	for _, row := range settingRow.FindAllStringSubmatch(string(page), -1) {
		assert.NotContains(t, rows, row[1], "%s has two rows", row[1])
		rows[row[1]] = row[2]
	}
	var instances []wire.Instance
	for _, name := range []string{"A", "B", "C", "D", "E"} {
		instances = append(instances, quorumtest.NewServer(name, nil))
	}
	locks, err := quorum.New(quorum.Config{}, instances...)
	require.NoError(t, err)
	cfg := locks.Config()
	cfg.Quorum = 0 // its default depends on the instances
	fields := 0
	for _, of := range []any{cfg, instance.Config{}} {
		v := reflect.ValueOf(of)
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if name == "Lab" {
				continue // no lock needs it, so its documentation is enough
			}
			assert.NotEmpty(t, rows[name], "settings.md has no row for %s", name)
			fields++
			if want := spelled(v.Field(i)); v.Type() == reflect.TypeFor[quorum.Config]() {
				assert.True(t, strings.HasPrefix(rows[name], want), "the default of %s is %s, and settings.md says %q", name, want, rows[name])
			}
		}
	}
	assert.Len(t, rows, fields, "settings.md has rows for fields that aren't there")
}

// spelled writes a number or a flag as the page does: "10 s", and 0 without a unit. Others have no short form.
func spelled(value reflect.Value) string {
	if value.IsZero() && value.CanInt() {
		return "0"
	}
	if !value.CanInt() && value.Kind() != reflect.Bool {
		return ""
	}
	return regexp.MustCompile(`(\d)(m?s)$`).ReplaceAllString(fmt.Sprint(value.Interface()), "$1 $2")
}
