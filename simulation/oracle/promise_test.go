package oracle

import (
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/record"
)

// promise is a model, by the kind of the violation that breaks it.
type promise struct {
	kind record.ViolationKind
	// about are the operations that matter.
	about []what
	// step reports whether an operation may be next, and returns the state after it.
	step func(s state, o operation) (state, bool)
}

// state is what a model remembers. Each model uses only a part of it.
type state struct {
	lease   int           // the holder's
	left    int           // how many acts under it are to come
	token   fencing.Token // the largest
	version uint64        // the resource's
	latest  operation     // of the latest lease that used the resource
}

func promises() []promise {
	return []promise{
		{record.TwoHolders, []what{granted, held}, func(s state, o operation) (state, bool) {
			if o.what == granted {
				return state{lease: o.lease, left: o.acts}, s.left == 0
			}
			return state{lease: s.lease, left: s.left - 1}, o.lease == s.lease
		}},
		{record.TokenOrder, []what{granted}, func(s state, o operation) (state, bool) {
			return state{token: max(s.token, o.token)}, o.token == 0 || o.token > s.token
		}},
		{record.StaleWrite, []what{read, write}, func(s state, o operation) (state, bool) {
			next := state{version: o.version, latest: s.latest}
			if o.after(s.latest) {
				next.latest = o
			}
			if o.what == read {
				return next, o.version == s.version
			}
			return next, o.version == s.version+1 && !s.latest.after(o)
		}},
		{record.LostUpdate, []what{write}, func(s state, o operation) (state, bool) {
			return state{version: o.version}, o.version == s.version+1 && o.asOf == s.version
		}},
	}
}

// kept reports whether porcupine finds an order of a key's operations that the model accepts.
func (p promise) kept(all []porcupine.Operation) bool {
	all = slices.DeleteFunc(slices.Clone(all), func(o porcupine.Operation) bool {
		return !slices.Contains(p.about, o.Input.(*operation).what)
	})
	return porcupine.CheckOperations(porcupine.Model{
		Init: func() any { return state{} },
		Step: func(s, input, _ any) (bool, any) {
			next, ok := p.step(s.(state), *input.(*operation))
			return ok, next
		},
	}, all)
}
