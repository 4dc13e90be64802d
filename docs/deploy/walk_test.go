//go:build unix

package deploy_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"

	"github.com/redquorum/redlock/instance/instancetest"
)

// newcomer follows a page: it saves files, enters commands, and compares their output with the
// page.
type newcomer struct {
	t       *testing.T
	dir     string
	env     []string
	servers map[string]*instancetest.Server // by the service's name
	seen    string                          // output of the last commands
	// downloading is the time for modules and the compiler, which depends on the machine and its load.
	downloading time.Duration
}

var (
	fenced  = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")
	saveAs  = regexp.MustCompile("[Ss]ave this as `([^`]+)`")
	numbers = regexp.MustCompile(`\d+(\.\d+)?`)
)

// A newcomer follows docs/getting-started.md block by block, in an empty folder, and ends with a
// lock taken and a late write refused, in less than five minutes. The module is this checkout, as
// if it were published.
func TestGettingStarted(t *testing.T) {
	t.Parallel() // it waits most of the time
	began := time.Now()
	page, err := os.ReadFile("../getting-started.md")
	require.NoError(t, err)
	n := &newcomer{t: t, dir: t.TempDir(), env: published(t), servers: map[string]*instancetest.Server{}}
	compared := 0
	for _, at := range fenced.FindAllSubmatchIndex(page, -1) {
		kind, block := string(page[at[2]:at[3]]), string(page[at[4]:at[5]])
		switch kind {
		case "sh":
			n.enter(block)
		case "text":
			compared++
			assert.Equal(t, likely(block), likely(n.seen), "the page shows something else")
		default:
			before := string(page[:at[0]])
			names := saveAs.FindAllStringSubmatch(before, -1)
			require.NotEmpty(t, names, "nothing says where to save:\n%s", block)
			n.save(names[len(names)-1][1], block)
		}
	}
	assert.Equal(t, 2, compared)
	assert.Less(t, time.Since(began)-n.downloading, 5*time.Minute)
}

// likely is an output without the parts that differ between runs: numbers, the go command's
// downloads, why servers don't vote, which depends on their uptime, and whether the server that is
// left voted before the others had failed.
func likely(text string) string {
	text = strings.Join(strings.Fields(regexp.MustCompile(`(?m)^go: .*$`).ReplaceAllString(text, "")), " ")
	text = regexp.MustCompile(`don't vote yet \((it came up|it is new|it has been used) .*?\); wait`).ReplaceAllString(text, "don't vote yet (WHY); wait")
	text = regexp.MustCompile(`(\d+ granted, )?(\d+ failed)(, \d+ not waited for)?`).ReplaceAllString(text, "$2")
	return numbers.ReplaceAllString(text, "N")
}

func (n *newcomer) save(name, block string) {
	// The ports of the page may be in use here.
	for service, port := range map[string]string{"redis-a": "6381", "redis-b": "6382", "redis-c": "6383"} {
		if server := n.servers[service]; server != nil {
			block = strings.ReplaceAll(block, "127.0.0.1:"+port, server.Addr())
		}
	}
	// This machine may be too busy for the default, and the program would say more than on the page.
	block = strings.Replace(block, "quorum.Config{", "quorum.Config{InstanceTimeout: 4 * time.Second, ", 1)
	require.NoError(n.t, os.WriteFile(filepath.Join(n.dir, name), []byte(block), 0o600))
}

// enter runs commands. Those of docker act on servers without containers.
func (n *newcomer) enter(commands string) {
	n.seen = ""
	for line := range strings.Lines(commands) {
		words := strings.Fields(line)
		switch {
		case words[0] == "cd":
			n.dir = filepath.Join(n.dir, words[1])
		case words[0] == "docker":
			require.Equal(n.t, "compose", words[1])
			n.compose(words[2], words[3:])
		default:
			began := time.Now()
			if words[0] == "go" && words[1] == "run" {
				n.run([]string{"go", "build", "-o", os.DevNull, "."})
				n.downloading += time.Since(began)
				n.run(words)
				break
			}
			n.run(words)
			n.downloading += time.Since(began)
		}
	}
}

func (n *newcomer) run(words []string) {
	ctx, cancel := context.WithTimeout(n.t.Context(), 8*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	command.Dir, command.Env = n.dir, n.env
	out, err := command.CombinedOutput()
	n.seen += string(out)
	if err != nil && !strings.Contains(n.seen, "exit status 1") {
		n.t.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, out)
	}
}

func (n *newcomer) compose(command string, arguments []string) {
	switch command {
	case "up":
		details := types.ConfigDetails{WorkingDir: n.dir, ConfigFiles: types.ToConfigFiles([]string{filepath.Join(n.dir, "compose.yaml")})}
		project, err := loader.LoadWithContext(n.t.Context(), details, func(o *loader.Options) { o.SetProjectName("first", true) })
		require.NoError(n.t, err)
		for name, service := range project.Services {
			n.servers[name] = instancetest.Start(n.t, instancetest.Config{Args: serverArgs(n.t, service.Command)})
		}
	case "stop":
		for _, name := range arguments {
			n.servers[name].Stop()
		}
	case "start":
		for _, name := range arguments {
			n.servers[name].Restart()
		}
	default:
		n.t.Fatalf("docker compose %s: the page has a command that this test doesn't know", command)
	}
}

// released is the version of all modules of the checkout that the changelog describes.
func released(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../changelog.md")
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^## (\d+\.\d+)(\.\d+)?\b`).FindSubmatch(page)
	require.NotNil(t, found, "the changelog names no version")
	patch := string(found[2])
	if patch == "" {
		patch = ".0"
	}
	return "v" + string(found[1]) + patch
}

// published makes a module proxy with the modules of this checkout, all with one version, and returns
// the environment of a first-time Go user. All other modules come from this machine's cache, and no server is
// asked for their checksums.
func published(t *testing.T) []string {
	t.Helper()
	cache, err := exec.Command("go", "env", "GOMODCACHE", "GOPROXY").Output()
	require.NoError(t, err)
	known := strings.Fields(string(cache))
	proxy, version := t.TempDir(), released(t)
	const root = "../.."
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "go.mod" || d.IsDir() {
			return err
		}
		publish(t, proxy, version, filepath.Dir(path))
		return nil
	}))
	return append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GO") || strings.HasPrefix(v, "REDLOCK_") }),
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(known[0], "cache", "download")+","+known[1],
		"GOSUMDB=off", "GOMODCACHE="+t.TempDir(), "GOFLAGS=-modcacherw -trimpath", "GOTOOLCHAIN=local")
}

const own = "github.com/redquorum/redlock"

// publish adds a module to a proxy. What it requires of the others is published with it, under the
// same version: its replace directives are ignored where it is required.
func publish(t *testing.T, proxy, version, folder string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	require.NoError(t, err)
	mod, err := modfile.Parse(folder, text, nil)
	require.NoError(t, err)
	for _, r := range mod.Require {
		if strings.HasPrefix(r.Mod.Path, own) {
			require.Equal(t, version, r.Mod.Version, "%s/go.mod requires another %s than the changelog's", folder, r.Mod.Path)
		}
	}
	m := module.Version{Path: mod.Module.Mod.Path, Version: version}
	var zip bytes.Buffer
	require.NoError(t, modzip.CreateFromDir(&zip, m, folder))
	require.Less(t, zip.Len(), modzip.MaxZipFile)
	versions := filepath.Join(proxy, m.Path, "@v")
	require.NoError(t, os.MkdirAll(versions, 0o755))
	for name, content := range map[string][]byte{
		"list": []byte(version + "\n"), version + ".mod": text, version + ".zip": zip.Bytes(),
		version + ".info": fmt.Appendf(nil, `{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, version),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(versions, name), content, 0o600))
	}
}

// Whoever has no checkout gets the modules that are there to be required, and both commands: all that the
// modules' packages import is found from a module that requires nothing else, and what go install puts into a
// folder does its work in an empty one. The packages compile, as in their own module, with the same versions.
func TestInstall(t *testing.T) {
	t.Parallel() // it compiles
	env := published(t)
	for _, name := range []string{"quorum/quorumotel", "quorum/adapters"} {
		t.Run(name, func(t *testing.T) {
			n := &newcomer{t: t, dir: t.TempDir(), env: env}
			n.enter("go mod init example.com/first\ngo get " + own + "/" + name + "/...")
			n.enter("go list -m " + own + "/" + name + " " + own)
			assert.Equal(t, own+"/"+name+" "+released(t)+"\n"+own+" "+released(t)+"\n", n.seen)
		})
	}
	t.Run("commands", func(t *testing.T) {
		bin := t.TempDir()
		n := &newcomer{t: t, dir: t.TempDir(), env: append(slices.Clip(env), "GOBIN="+bin)}
		n.enter("go install " + own + "/instance/cmd/redlockctl@latest\ngo install " + own + "/simulation/cmd/redlocksim@latest")
		n.enter(bin + "/redlockctl version")
		assert.Contains(t, n.seen, "redlockctl "+released(t)+" ")
		n.enter("go version -m " + bin + "/redlocksim")
		assert.Regexp(t, `\s`+own+`\s+`+released(t)+`\s`, n.seen)
		var urls []string
		for _, server := range instancetest.StartN(t, 3, instancetest.Config{}) {
			urls = append(urls, "redis://"+server.Addr())
		}
		n.enter(bin + "/redlockctl lock -servers " + strings.Join(urls, ",") + " -max-ttl 15s -ttl 15s -timeout 5s -fixed-address orders:42 -- go version")
		assert.Contains(t, n.seen, "\ngo version ")
		n.enter(bin + "/redlocksim run S1 -design redlock")
		assert.Contains(t, n.seen, "\nas expected\n")
	})
}
