package redisguard

import (
	"context"
	"crypto/sha1" //nolint:gosec // the server names scripts by their SHA-1
	_ "embed"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed mark.lua
	markLua string
	//go:embed admit.lua
	admitLua string
	//go:embed set.lua
	setLua string
	//go:embed run.lua
	runLua string
	//go:embed forget.lua
	forgetLua string

	admitScript  = newSource(markLua + admitLua)
	setScript    = newSource(markLua + setLua)
	forgetScript = newSource(forgetLua)
)

// source is a script and the name under which the server caches it.
type source struct{ text, sha string }

func newSource(text string) source {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see above
	return source{text: text, sha: hex.EncodeToString(sum[:])}
}

// eval runs the script by name. If the server does not know it (the first time,
// after a restart or SCRIPT FLUSH), eval sends the text: NOSCRIPT means that
// nothing has run yet.
func (s source) eval(ctx context.Context, c Scripter, keys []string, args []any) (any, error) {
	reply, err := c.EvalSha(ctx, s.sha, keys, args...).Result()
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		reply, err = c.Eval(ctx, s.text, keys, args...).Result()
	}
	return reply, err
}

// Script is a Lua script that Guard.Run runs in one step with the check of the
// token. It is immutable and may be shared.
type Script struct{ source source }

// NewScript wraps a Lua script of your own. It is written as for EVAL: it sees
// its keys and arguments in KEYS and ARGV, counted from 1, and may return a
// reply. It must not begin with a shebang line, and must declare all keys that
// it touches. Line numbers in error messages are those of body.
//
// The server compiles body on its own, at each Run. Run refuses a body that is
// not valid Lua with ErrSyntax, and nothing is changed.
//
// Redis does not undo what a script did before it failed: check before the
// first write.
func NewScript(body string) (*Script, error) {
	switch {
	case strings.TrimSpace(body) == "":
		return nil, fmt.Errorf("redisguard: the script is empty; pass the Lua that writes, or use Check")
	case strings.HasPrefix(body, "#!"):
		return nil, fmt.Errorf("redisguard: the script begins with a shebang line, which cannot stand inside another script; remove it")
	}
	// The body is a separate chunk, not text inside a function of the guard. As
	// text, "return 1 end ... do" would end the function and run outside the check.
	// A chunk also sees none of the guard's locals, and its line numbers stay
	// right. The locals hide the real KEYS and ARGV.
	chunk := quoteLua("local KEYS, ARGV = ... " + body)
	return &Script{newSource(markLua + "local body, fault = loadstring(" + chunk + ", '=script')\n" + runLua)}, nil
}

// quoteLua returns a Lua string literal, whatever the text has in it. Lua reads a
// bare carriage return in a literal as a line feed, and stops at a NUL.
func quoteLua(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\x00", `\000`).Replace(text) + `"`
}
