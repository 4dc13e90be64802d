//go:build unix

package redisguard_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/redisguard"
)

func script(t *testing.T, body string) *redisguard.Script {
	t.Helper()
	s, err := redisguard.NewScript(body)
	require.NoError(t, err)
	return s
}

// TestRunSeesItsOwnKeysAndArguments: as with EVAL, and none of the guard's.
func TestRunSeesItsOwnKeysAndArguments(t *testing.T) {
	servers(t, func(t *testing.T, c *redis.Client) {
		ctx, g := t.Context(), newGuard(t, c)
		s := script(t, `return {#KEYS, #ARGV, table.concat(KEYS, ','), table.concat(ARGV, ',')} -- a comment`)
		got, err := g.Run(ctx, s, "r", 5, []string{"{r}a", "{r}b"}, "x", 7)
		require.NoError(t, err)
		assert.Equal(t, []any{int64(2), int64(2), "{r}a,{r}b", "x,7"}, got)

		got, err = g.Run(ctx, script(t, "return #KEYS + #ARGV"), "r", 5, nil)
		require.NoError(t, err)
		assert.Equal(t, int64(0), got)

		// A server answers an undefined global with an error, the embedded one with nil.
		got, err = g.Run(ctx, script(t, "return type(show)"), "r", 5, nil)
		if err == nil {
			assert.Equal(t, "nil", got)
		} else {
			assert.ErrorContains(t, err, "show")
		}
	})
}

func TestRunReplies(t *testing.T) {
	servers(t, func(t *testing.T, c *redis.Client) {
		ctx, g := t.Context(), newGuard(t, c)
		for body, want := range map[string]any{
			"return 7":                          int64(7),
			"return 'x'":                        "x",
			"return {1, {'a', 'b'}}":            []any{int64(1), []any{"a", "b"}},
			"return redis.status_reply('FINE')": "FINE",
			"return true":                       int64(1),
			"return false":                      nil,
			"return nil":                        nil,
			"local x = 1":                       nil,
			"return redis.call('GET', 'none')":  nil,
			"return {'stale', '99'}":            []any{"stale", "99"},
			"if true then return 'early' end":   "early",
			// A reply with a metatable is data, and no code of the script's runs when the server reads it.
			"return setmetatable({7}, {__index = function() error({err = 'NOSCRIPT again'}) end})": []any{int64(7)},
			// The server gets a body's exact bytes.
			`return "a\"b\\c'd"`:                         `a"b\c'd`,
			"return [[a\nb]] -- the end":                 "a\nb",
			"return '\xff\xfe'":                          "\xff\xfe",
			"return 'tab\tand é'":                        "tab\tand é",
			"-- a carriage return\r\nreturn 7\r\n":       int64(7),
			"return '%d %s $1 \\n'":                      "%d %s $1 \n",
			"local function f() return 3 end return f()": int64(3),
		} {
			got, err := g.Run(ctx, script(t, body), "r", 5, nil)
			assert.NoError(t, err, body)
			assert.Equal(t, want, got, body)
		}
	})
}

// TestRunErrors: an error of the script becomes a *ScriptError, whatever its text, and the script
// ran once.
func TestRunErrors(t *testing.T) {
	servers(t, func(t *testing.T, c *redis.Client) {
		ctx, g := t.Context(), newGuard(t, c)
		require.NoError(t, c.Set(ctx, "text", "x", 0).Err())
		for body, says := range map[string]string{
			"return redis.error_reply('MINE no stock')":             "MINE no stock",
			"return redis.error_reply('NOSCRIPT no such template')": "NOSCRIPT no such template",
			"return {err = 'NOSCRIPT No matching script.'}":         "NOSCRIPT No matching script.",
			"error('NOSCRIPT mine')":                                "NOSCRIPT mine",
			"error({err = 'NOSCRIPT mine'})":                        "NOSCRIPT mine",
			"error({})":                                             "table",
			"error(setmetatable({}, {__tostring = function() error({err = 'NOSCRIPT again'}) end}))":                "an error of type table",
			"error(setmetatable({}, {__index = function() error({err = 'NOSCRIPT again'}) end}))":                   "an error of type table",
			"return setmetatable({1}, {__metatable = 1, __index = function() error({err = 'NOSCRIPT again'}) end})": "a table with a protected metatable",
			"return {err = false}":               "an error of type boolean",
			"error(7)":                           "7",
			"return redis.call('INCR', 'text')":  "not an integer",
			"return redis.pcall('INCR', 'text')": "not an integer",
			"local a = 1\n\nerror('mine')":       "script:3: mine",
			"error('first line')":                "script:1: first line",
		} {
			require.NoError(t, c.Del(ctx, "n").Err())
			require.NoError(t, c.ScriptFlush(ctx).Err())
			got, err := g.Run(ctx, script(t, "redis.call('INCR', KEYS[1]) "+body), "r", 5, []string{"n"})
			var failed *redisguard.ScriptError
			require.ErrorAs(t, err, &failed, body)
			assert.Contains(t, failed.Text, says, body)
			assert.ErrorContains(t, err, failed.Text)
			assert.NotErrorIs(t, err, fencing.ErrStale)
			assert.Nil(t, got)
			assert.Equal(t, "1", c.Get(ctx, "n").Val(), "it ran once: %s", body)
		}
	})
}

// TestBadLua: a body is compiled separately, so none can end the function that it runs in and
// continue outside the check. Nothing is changed.
func TestBadLua(t *testing.T) {
	servers(t, func(t *testing.T, c *redis.Client) {
		ctx, g := t.Context(), newGuard(t, c)
		require.NoError(t, g.Admit(ctx, "r", 100))
		for _, body := range []string{
			"this is no Lua",
			"return 1 end return 2 -- unbalanced",
			"return 1 end redis.call('SET', KEYS[2], 'unguarded') do",
			"return 1 end redis.call('SET', KEYS[1], '1') do",
			"--[[ a comment that never ends\nreturn 1\n",
			`") redis.call('SET', KEYS[1], '1') loadstring("`,
			"return 'a string that never ends",
		} {
			for _, tok := range []fencing.Token{1, 100, 101} {
				_, err := g.Run(ctx, script(t, body), "r", tok, []string{"data"})
				assert.ErrorIs(t, err, redisguard.ErrSyntax, body)
			}
			assert.Zero(t, c.Exists(ctx, "data").Val(), body)
			assert.Equal(t, "100", c.Get(ctx, g.Key("r")).Val(), body)
		}
	})
}

func TestNewScriptRefuses(t *testing.T) {
	for body, says := range map[string]string{"": "empty", " \n\t": "empty", "#!lua\nreturn 1": "shebang"} {
		_, err := redisguard.NewScript(body)
		assert.ErrorContains(t, err, says)
	}
}

func TestRunNil(t *testing.T) {
	for _, s := range []*redisguard.Script{nil, new(redisguard.Script)} {
		_, err := newGuard(t, answer{}).Run(t.Context(), s, "r", 5, nil)
		assert.ErrorContains(t, err, "NewScript")
	}
}
