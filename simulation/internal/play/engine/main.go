//go:build js && wasm

// Engine is package play for a page: it runs in a worker of the browser, or in Node, and sets the
// global function redlock, which takes a request's text and returns the answer's, see play.Answer.
// Both are JSON. The function returns when the run has ended. If a run kills the program, the
// promise of Go.run ends.
package main

import (
	"syscall/js"

	"github.com/redquorum/redlock/simulation/internal/play"
)

func main() {
	js.Global().Set("redlock", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return string(play.Answer([]byte(args[0].String())))
	}))
	select {} // the worker ends it
}
