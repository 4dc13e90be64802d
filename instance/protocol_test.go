//go:build unix

package instance

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
)

var updateScripts = flag.Bool("update", false, "write docs/testdata/protocol/scripts.json anew")

// TestProtocolScripts: clients in other languages get the scripts that this one sends.
func TestProtocolScripts(t *testing.T) {
	const file = "../docs/testdata/protocol/scripts.json"
	type published struct {
		SHA1   string `json:"sha1"`
		Source string `json:"source"`
	}
	all := map[string]published{}
	for name, s := range protocolScripts() {
		all[name] = published{s.sha, s.source}
	}
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	require.NoError(t, e.Encode(all))
	if *updateScripts {
		require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o644))
	}
	found, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, text.String(), string(found), "go test ./instance -run TestProtocolScripts -update writes them")
}

func protocolScripts() map[string]*script {
	return map[string]*script{
		"acquire": acquireScript, "extend": extendScript, "release": releaseScript, "lift": liftScript, "look": lookScript,
		"tick": tickScript, "mark": markScript, "enqueue": enqueueScript, "dequeue": dequeueScript,
	}
}

// vector is a case of docs/testdata/protocol/vectors.json, which says how it is to be read.
type vector struct {
	Name  string
	Steps []struct {
		Script        string
		Keys          []string
		Args, Command []any
		Reply         any
		Error         string
	}
}

// TestProtocolVectors plays the cases that a client in another language can be tested with.
func TestProtocolVectors(t *testing.T) {
	text, err := os.ReadFile("../docs/testdata/protocol/vectors.json")
	require.NoError(t, err)
	var file struct{ Cases []vector }
	require.NoError(t, json.Unmarshal(text, &file))
	server := instancetest.Start(t, instancetest.Config{})
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	played := map[string]bool{}
	for _, v := range file.Cases {
		t.Run(v.Name, func(t *testing.T) {
			require.NoError(t, client.FlushAll(t.Context()).Err())
			vars := variables{"mark": "{redlock}:served:s"}
			ask := func(name string, keys []string, args ...any) (any, error) {
				played[name] = true
				nonce := strconv.FormatInt(rand.Int64N(1<<53), 10)
				reply, err := client.Eval(t.Context(), protocolScripts()[name].source, keys, append([]any{nonce}, args...)...).Slice()
				if err != nil {
					return nil, err
				}
				require.Equal(t, nonce, fmt.Sprint(reply[0]))
				return reply[1:], nil
			}
			mark, err := ask("mark", []string{vars["mark"]}, "", "", "", 0)
			require.NoError(t, err)
			_, vars["run"], _ = strings.Cut(mark.([]any)[1].(string), "/")
			for i, step := range v.Steps {
				var reply any
				var err error
				if step.Script != "" {
					for i, key := range step.Keys {
						step.Keys[i] = vars.in(key)
					}
					reply, err = ask(step.Script, step.Keys, vars.all(step.Args)...)
				} else {
					reply, err = client.Do(t.Context(), vars.all(step.Command)...).Result()
				}
				if step.Error != "" {
					require.ErrorContains(t, err, vars.in(step.Error), "step %d", i+1)
					continue
				}
				if !errors.Is(err, redis.Nil) {
					require.NoError(t, err, "step %d", i+1)
				}
				require.True(t, vars.match(step.Reply, reply), "step %d: %v, want %v, with %v", i+1, reply, step.Reply, vars)
			}
		})
	}
	for name := range protocolScripts() {
		require.True(t, played[name] || name == "tick", "no case plays %s", name)
	}
}

// variables are the values of a vector's variables.
type variables map[string]string

var (
	variable = regexp.MustCompile(`<([a-z]+)(?:\+(\d+))?>`)
	between  = regexp.MustCompile(`^<(\d+)\.\.(\d+)>$`)
)

// in puts the variables that have a value into a text.
func (v variables) in(text string) string {
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		parts := variable.FindStringSubmatch(found)
		value, is := v[parts[1]]
		if !is || parts[2] == "" {
			if !is {
				return found
			}
			return value
		}
		number, _ := strconv.ParseInt(value, 10, 64)
		more, _ := strconv.ParseInt(parts[2], 10, 64)
		return strconv.FormatInt(number+more, 10)
	})
}

func (v variables) all(args []any) []any {
	var texts []any
	for _, arg := range args {
		texts = append(texts, v.in(asText(arg)))
	}
	return texts
}

// match compares a reply with what a case expects, and gives new variables their values.
func (v variables) match(want, reply any) bool {
	if wants, ok := want.([]any); ok {
		replies, ok := reply.([]any)
		if !ok || len(wants) != len(replies) {
			return false
		}
		for i := range wants {
			if !v.match(wants[i], replies[i]) {
				return false
			}
		}
		return true
	}
	if want == nil || reply == nil {
		return want == reply
	}
	text, found := v.in(asText(want)), asText(reply)
	if bounds := between.FindStringSubmatch(text); bounds != nil {
		low, _ := strconv.ParseInt(bounds[1], 10, 64)
		high, _ := strconv.ParseInt(bounds[2], 10, 64)
		number, err := strconv.ParseInt(found, 10, 64)
		return err == nil && low <= number && number <= high
	}
	names := variable.FindAllStringSubmatch(text, -1)
	pattern := "^" + variable.ReplaceAllString(regexp.QuoteMeta(text), "(.+)") + "$"
	values := regexp.MustCompile(pattern).FindStringSubmatch(found)
	if values == nil {
		return false
	}
	for i, name := range names {
		if name[1] != "clock" && name[1] != "seconds" && name[1] != "micros" {
			v[name[1]] = values[i+1]
		}
	}
	return true
}

func asText(value any) string {
	if number, ok := value.(float64); ok { // as JSON has them
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}
