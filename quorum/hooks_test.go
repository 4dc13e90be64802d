package quorum_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/quorum"
)

// recordingHooks sets every hook there is, by reflection: one that is added later
// and forgotten in And fails the tests below.
func recordingHooks(name string, calls *[]string, seen *[]any) quorum.Hooks {
	var h quorum.Hooks
	v := reflect.ValueOf(&h).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		v.Field(i).Set(reflect.MakeFunc(field.Type, func(args []reflect.Value) []reflect.Value {
			*calls = append(*calls, name+" "+field.Name)
			for _, arg := range args {
				*seen = append(*seen, arg.Interface())
			}
			return nil
		}))
	}
	return h
}

func TestHooksAndTellsBothInOrder(t *testing.T) {
	var calls []string
	var seen []any
	h := recordingHooks("first", &calls, &seen).And(recordingHooks("second", &calls, &seen))
	v := reflect.ValueOf(h)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		t.Run(name, func(t *testing.T) {
			calls, seen = nil, nil
			var args []reflect.Value
			var want []any
			for j := range v.Field(i).Type().NumIn() {
				arg := reflect.New(v.Field(i).Type().In(j)).Elem()
				if arg.Kind() == reflect.Interface {
					arg.Set(reflect.ValueOf(context.WithValue(t.Context(), hookKey{}, name)))
				} else {
					markEvent(arg, name)
				}
				args = append(args, arg)
				want = append(want, arg.Interface())
			}
			v.Field(i).Call(args)
			assert.Equal(t, []string{"first " + name, "second " + name}, calls)
			assert.Equal(t, append(want, want...), seen, "both get the context and the event as they are")
		})
	}
}

type hookKey struct{}

// markEvent sets the first text in an event, so that it isn't the zero one.
func markEvent(event reflect.Value, text string) {
	for i := range event.NumField() {
		if event.Field(i).Kind() == reflect.String {
			event.Field(i).SetString(text)
			return
		}
	}
}

func TestHooksAndCostsNothingWhereUnset(t *testing.T) {
	none := reflect.ValueOf(quorum.Hooks{}.And(quorum.Hooks{}))
	for i := range none.NumField() {
		assert.True(t, none.Field(i).IsNil(), none.Type().Field(i).Name)
	}

	// With one side unset there is no function in between: it is the very same.
	var calls []string
	var seen []any
	h := recordingHooks("only", &calls, &seen)
	for _, joined := range []quorum.Hooks{h.And(quorum.Hooks{}), quorum.Hooks{}.And(h)} {
		v, want := reflect.ValueOf(joined), reflect.ValueOf(h)
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			assert.Equal(t, want.Field(i).Pointer(), v.Field(i).Pointer(), name)
		}
		calls = nil
		joined.Lost(quorum.LeaseEvent{})
		joined.Acquired(t.Context(), quorum.LeaseEvent{})
		assert.Equal(t, []string{"only Lost", "only Acquired"}, calls)
	}
}
