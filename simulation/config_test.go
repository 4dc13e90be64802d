package simulation_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// fill sets every plain field to something other than its zero value.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(1)
	}
}

// A Config that is encoded and decoded is unchanged, whatever its fields.
func TestConfigAsJSON(t *testing.T) {
	var cfg simulation.Config
	fill(reflect.ValueOf(&cfg).Elem())
	cfg.Quorum.Hooks.Lost = func(quorum.LeaseEvent) {}
	cfg.Locker = func(simulation.Process) (simulation.Locker, error) { return nil, nil }
	text, err := json.Marshal(cfg)
	require.NoError(t, err)

	var again simulation.Config
	require.NoError(t, json.Unmarshal(text, &again))
	cfg.Quorum.Hooks, cfg.Locker = quorum.Hooks{}, nil
	assert.Equal(t, cfg, again)

	partly := simulation.Config{Servers: 3, Locker: func(simulation.Process) (simulation.Locker, error) { return nil, nil }}
	require.NoError(t, json.Unmarshal([]byte(`{"Processes": 4, "Quorum": {"TTL": 2000000000}}`), &partly))
	assert.Equal(t, 3, partly.Servers)
	assert.Equal(t, 4, partly.Processes)
	assert.Equal(t, 2*time.Second, partly.Quorum.TTL)
	assert.NotNil(t, partly.Locker)
	assert.Error(t, json.Unmarshal([]byte(`{"Servers": "many"}`), &partly))
}
