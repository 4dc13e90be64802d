package book_test

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
)

// settingRow is a row of the tables in settings.md: a field, its default, and whether clients may differ in it.
var settingRow = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([^|]*) \\|[^|]*\\|$")

// The tables of settings have every field, with the number or flag that New fills in: "10 s", and 0 without a unit.
func TestSettingsTable(t *testing.T) {
	rows := map[string]string{}
	for _, row := range settingRow.FindAllStringSubmatch(read(t, "settings.md"), -1) {
		rows[row[1]] = row[2]
	}
	locks, err := quorum.New(quorum.Config{}, quorumtest.NewServer("A", nil))
	require.NoError(t, err)
	cfg := locks.Config()
	cfg.Quorum = 0 // its default depends on the instances
	fields := 0
	for _, of := range []reflect.Value{reflect.ValueOf(cfg), reflect.ValueOf(instance.Config{})} {
		for field, value := range of.Fields() {
			if field.Name == "Lab" {
				continue // no lock needs it, so its documentation is enough
			}
			fields++
			row := rows[field.Name]
			assert.NotEmpty(t, row, "settings.md has no row for %s", field.Name)
			if of.Type() != reflect.TypeFor[quorum.Config]() || !value.CanInt() && value.Kind() != reflect.Bool {
				continue
			}
			want := "0"
			if !value.IsZero() || !value.CanInt() {
				want = regexp.MustCompile(`(\d)(m?s)$`).ReplaceAllString(fmt.Sprint(value.Interface()), "$1 $2")
			}
			assert.True(t, strings.HasPrefix(row, want), "the default of %s is %s, and settings.md says %q", field.Name, want, row)
		}
	}
	assert.Len(t, rows, fields, "settings.md has rows for fields that aren't there")
}
