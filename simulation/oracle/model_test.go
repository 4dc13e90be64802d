package oracle

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/record"
)

// what is done in an operation.
type what uint8

const (
	granted what = iota
	held
	read
	write
)

// operation is an operation under a lease. Porcupine gets it as an input; nothing is left for an output.
type operation struct {
	what  what
	lease int // its number in the record
	token fencing.Token
	place int // the lease's among those of its key, from 1, in the order of the answers
	acts  int // how often the lease is held (granted)
	// version is the resource's afterwards (read, write), and asOf the one that the writer had read.
	version, asOf uint64
}

// after reports whether the lease of o is later than that of p.
func (o operation) after(p operation) bool {
	if o.token != 0 && p.token != 0 {
		return o.token > p.token
	}
	return o.place > p.place
}

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

var promises = []promise{
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

// broken is a promise that was broken on a key.
type broken struct {
	key  string
	kind record.ViolationKind
}

// sorted sorts what is broken, each once.
func sorted(all []broken) []broken {
	slices.SortFunc(all, func(a, b broken) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.kind, b.kind)) })
	return slices.Compact(all)
}

// judged returns the promises that porcupine finds broken. requests says whether the sender of a request to the
// resource acts as the holder, as in a simulated run.
func judged(log record.Log, requests bool) (all []broken) {
	for key, operations := range histories(log, requests) {
		for _, p := range promises {
			if !p.kept(operations) {
				all = append(all, broken{key, p.kind})
			}
		}
	}
	return sorted(all)
}
