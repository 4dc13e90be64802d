package quorum

import "runtime/debug"

// Version is the version of this module in the running program: v0.1.0, or one that names a commit.
// "(devel)" if the go command has noted none, as in tests. It is for logs, because a protection that is
// new in a version counts when every client has that version.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknownVersion
	}
	return versionIn(info)
}

const unknownVersion = "(devel)"

func versionIn(program *debug.BuildInfo) string {
	for _, m := range append([]*debug.Module{&program.Main}, program.Deps...) {
		if m.Path != "github.com/redquorum/redlock" {
			continue
		}
		if m.Replace != nil {
			m = m.Replace // a folder has no version
		}
		if m.Version != "" {
			return m.Version
		}
	}
	return unknownVersion
}
