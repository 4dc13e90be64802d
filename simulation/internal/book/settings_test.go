package book_test

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

func init() {
	generators["validities"] = func([]string) (string, error) { return validities() }
}

// validities computes with the library's defaults what is left of a TTL.
func validities() (string, error) {
	atRest, err := instance.Open("redis://server", instance.Config{})
	if err != nil {
		return "", err
	}
	defer atRest.Close()
	var rows [][]string
	for _, ttl := range []time.Duration{2 * time.Second, 10 * time.Second, 2 * time.Minute} {
		cfg := quorum.Config{TTL: ttl}
		if def, err := completed(quorum.Config{}); err != nil {
			return "", err
		} else if least := ttl + atRest.ConnLife(); least > def.MaxTTL {
			cfg.MaxTTL = least
		}
		cfg, err := completed(cfg)
		if err != nil {
			return "", err
		}
		quick := cfg.Lab.Drift.Validity(ttl, time.Millisecond)
		slow := cfg.Lab.Drift.Validity(ttl, 2*cfg.InstanceTimeout)
		rows = append(rows, []string{
			ttl.String(), cfg.InstanceTimeout.String(), quick.String(), slow.String(), cfg.MaxTTL.String(),
		})
	}
	return table("TTL | InstanceTimeout | validity after a round of 1 ms | after the slowest round that can be won | MaxTTL, at the least its default", rows), nil
}

// completed returns a Config with the defaults that New fills in, as a Coordinator on five
// instances shows them.
func completed(cfg quorum.Config) (quorum.Config, error) {
	instances := make([]wire.Instance, 5)
	for i := range instances {
		instances[i] = quorumtest.NewServer(string(rune('A'+i)), nil)
	}
	locks, err := quorum.New(cfg, instances...)
	if err != nil {
		return cfg, err
	}
	return locks.Config(), nil
}

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
	cfg, err := completed(quorum.Config{})
	require.NoError(t, err)
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
			if want := spelled(v.Field(i).Interface()); v.Type() != reflect.TypeFor[instance.Config]() {
				assert.True(t, strings.HasPrefix(rows[name], want), "the default of %s is %s, and settings.md says %q", name, want, rows[name])
			}
		}
	}
	assert.Len(t, rows, fields, "settings.md has rows for fields that aren't there")
}

// spelled writes a setting as the pages do, "10 s"; "" is one that has no short form.
func spelled(value any) string {
	switch set := value.(type) {
	case time.Duration:
		switch {
		case set == 0:
			return "0"
		case set%time.Hour == 0:
			return fmt.Sprintf("%d h", set/time.Hour)
		case set%time.Second == 0:
			return fmt.Sprintf("%d s", set/time.Second)
		}
		return fmt.Sprintf("%d ms", set/time.Millisecond)
	case int, bool:
		return fmt.Sprint(set)
	}
	return ""
}
