package quorum

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestVersion(t *testing.T) {
	const own = "github.com/redquorum/redlock"
	other := debug.Module{Path: "example.com/orders", Version: "v7.0.0"}
	for want, program := range map[string]debug.BuildInfo{
		"v0.1.0":  {Main: debug.Module{Path: own, Version: "v0.1.0"}},
		"v0.1.1":  {Main: other, Deps: []*debug.Module{{Path: own + "/quorum/quorumotel", Version: "v0.1.3"}, {Path: own, Version: "v0.1.1"}}},
		"v0.1.2":  {Main: other, Deps: []*debug.Module{{Path: own, Version: "v0.1.1", Replace: &debug.Module{Path: "example.com/fork", Version: "v0.1.2"}}}},
		"(devel)": {Main: other, Deps: []*debug.Module{{Path: own, Version: "v0.1.1", Replace: &debug.Module{Path: "../redlock"}}}},
	} {
		assert.Equal(t, want, versionIn(&program))
	}
	assert.NotEmpty(t, Version())
}
