package book_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum"
)

// settingRow is a row of the tables in settings.md: a field, its default, its range, whether all
// clients must have the same, and whether it can be changed.
var settingRow = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([^|]*) \\|(?:[^|]*\\|){3}$")

// The tables of settings have every field, once, with the default that New fills in.
func TestSettingsTable(t *testing.T) {
	page, err := os.ReadFile("settings.md")
	require.NoError(t, err)
	rows := map[string]string{}
	for _, row := range settingRow.FindAllStringSubmatch(string(page), -1) {
		assert.NotContains(t, rows, row[1], "%s has two rows", row[1])
		rows[row[1]] = row[2]
	}
	fields := 0
	for _, setting := range []string{"quorum Terms", "quorum Config", "instance Config"} {
		dir, name, _ := strings.Cut(setting, " ")
		list, err := fieldsOf(filepath.Join("..", dir), name)
		require.NoError(t, err)
		for _, f := range list {
			assert.NotEmpty(t, rows[f.name], "settings.md has no row for %s.%s", name, f.name)
			fields++
		}
	}
	assert.Len(t, rows, fields, "settings.md has rows for fields that aren't there")

	cfg, err := completed(quorum.Config{})
	require.NoError(t, err)
	checked := 0
	for _, of := range []any{cfg, cfg.Terms} {
		v := reflect.ValueOf(of)
		for i := range v.NumField() {
			name, value := v.Type().Field(i).Name, v.Field(i)
			want := ""
			switch set := value.Interface().(type) {
			case time.Duration:
				want = spaced(set)
			case int:
				want = fmt.Sprint(set)
			case quorum.Switch:
				want = map[quorum.Switch]string{quorum.On: "on", quorum.Off: "off"}[set]
			case bool:
				want = fmt.Sprint(set)
			case drift.Allowance:
				want = fmt.Sprintf("%d %% (`PPM` 10 000) and %s", set.PPM/10_000, spaced(set.Floor))
			default:
				continue
			}
			if name == "Quorum" {
				want = "0: N/2+1" // it depends on the instances
				assert.Equal(t, 3, cfg.Quorum)
			}
			checked++
			assert.True(t, strings.HasPrefix(rows[name], want), "the default of %s is %s, and settings.md says %q", name, want, rows[name])
		}
	}
	assert.Greater(t, checked, 20)
	assert.NotEqual(t, cfg.TTL, cfg.MaxTTL, "MaxTTL's default isn't the TTL")
}

// spaced writes a duration as the pages do: "10 s", "24 h".
func spaced(d time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d%time.Second == 0:
		return fmt.Sprintf("%d s", d/time.Second)
	default:
		return fmt.Sprintf("%d ms", d/time.Millisecond)
	}
}

// Every text about the set's fingerprint names all that it covers and nothing else: a reader who
// believes that it covers the servers trusts a check that doesn't exist.
func TestFingerprintOnPages(t *testing.T) {
	fields, err := fieldsOf("../quorum/wire", "Set")
	require.NoError(t, err)
	var names []string
	for _, f := range fields {
		names = append(names, strings.ToLower(f.name))
	}
	require.Equal(t, []string{"name", "version", "n", "q", "maxttl"}, names, "the fingerprint has changed: correct the pages")
	settings, err := os.ReadFile("settings.md")
	require.NoError(t, err)
	var refused []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` .*others are refused").FindAllStringSubmatch(string(settings), -1) {
		refused = append(refused, row[1])
	}
	assert.Equal(t, []string{"Quorum", "Set", "MaxTTL"}, refused, "settings in which clients may not differ, because the fingerprint has them")

	said := 0
	for _, page := range append(pagesIn(t, "."), "../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile(`fingerprint \(([^)]*)\)`).FindAllStringSubmatch(strings.Join(strings.Fields(string(text)), " "), -1) {
			said++
			list := strings.ToLower(strings.NewReplacer("its ", "", "`", "", "Set.", "", " and ", ", ").Replace(found[1]))
			assert.Equal(t, strings.Join(names, ", "), list, "%s", page)
		}
		assert.NotRegexp(t, `fingerprint (of|names) (the|all) (servers|instances)`, string(text), "%s", page)
	}
	assert.GreaterOrEqual(t, said, 2)
}
