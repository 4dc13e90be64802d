package book_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() {
	generators["rivals"] = func([]string) (string, error) { return rivalTable() }
}

// rival is another library mentioned on the pages.
type rival struct {
	name, address string
	// module is its Go module in the benchmark's go.mod, which has its version.
	module string
	// version is the version that was read, if no go.mod has it, and published its date.
	version, published string
	// how is how it is known.
	how string
}

var rivals = []rival{
	{name: "redsync", address: "https://github.com/go-redsync/redsync", module: "github.com/go-redsync/redsync/v4", published: "October 2026", how: "read, run, benchmarked"},
	{name: "rueidislock", address: "https://github.com/redis/rueidis", module: "github.com/redis/rueidis", published: "October 2026", how: "read, run, benchmarked"},
	{name: "bsm/redislock", address: "https://github.com/bsm/redislock", module: "github.com/bsm/redislock", published: "July 2023", how: "read, run, benchmarked"},
	{name: "go-redis, under redsync and redislock", address: "https://github.com/redis/go-redis", module: "github.com/redis/go-redis/v9", published: "October 2026", how: "run"},
	{name: "bsm/redislock, newer", address: "https://github.com/bsm/redislock", version: "v0.10.0; [fencing tokens](https://github.com/bsm/redislock/pull/94) merged after it", published: "May 2026; June 2026", how: "read; its description read"},
	{name: "Redisson", address: "https://github.com/redisson/redisson", version: "4.7.0: `RedissonRedLock`, `RedissonMultiLock`, `RedissonFencedLock`", published: "August 2026", how: "read"},
	{name: "etcd", address: "https://github.com/etcd-io/etcd", version: "client v3.7.3, package concurrency", published: "October 2026", how: "read, not run"},
	{name: "node-redlock", address: "https://github.com/mike-marcacci/node-redlock", version: "v5.0.0-beta.2, commit afe5cf9", how: "read"},
	{name: "RedLock.net", address: "https://github.com/samcook/RedLock.net", version: "2.3.2, commit dcfe373", how: "read"},
	{name: "rslock", address: "https://github.com/hexcowboy/rslock", version: "0.7.3, commit e5d7583", how: "read"},
	{name: "redlock-py", address: "https://github.com/SPSCommerce/redlock-py", version: "1.0.8, commit 42ef491", how: "read"},
	{name: "redlock-rb, by antirez", address: "https://github.com/antirez/redlock-rb", version: "commit 2af803d", how: "read"},
}

func rivalTable() (string, error) {
	text, err := os.ReadFile("../simulation/bench/go.mod")
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, r := range rivals {
		if r.module != "" {
			if r.version, err = requiredVersion(string(text), r.module); err != nil {
				return "", err
			}
		}
		rows = append(rows, []string{fmt.Sprintf("[%s](%s)", r.name, r.address), r.version, r.published, r.how})
	}
	return strings.TrimRight(table("library | version | published | how it is known", rows), "\n"), nil
}

// The columns of the comparison name the versions that the benchmark requires, because a later
// version may have gained a feature.
func TestComparisonNamesVersions(t *testing.T) {
	gomod, err := os.ReadFile("../simulation/bench/go.mod")
	require.NoError(t, err)
	page, err := os.ReadFile("choosing.md")
	require.NoError(t, err)
	head := regexp.MustCompile(`(?m)^\| \| this library \| .*$`).FindString(string(page))
	require.NotEmpty(t, head, "choosing.md has no table of comparison")
	for _, r := range rivals[:3] {
		version, err := requiredVersion(string(gomod), r.module)
		require.NoError(t, err)
		assert.Contains(t, head, "| "+r.name+" "+version+" |")
	}
	_, err = requiredVersion(string(gomod), "github.com/go-redsync/redsync/v3")
	require.ErrorContains(t, err, "requires no")
}

// requiredVersion finds the version of a module in the text of a go.mod.
func requiredVersion(gomod, module string) (string, error) {
	found := regexp.MustCompile(`(?m)^\s*(?:require )?` + regexp.QuoteMeta(module) + ` (v\S+)`).FindStringSubmatch(gomod)
	if found == nil {
		return "", fmt.Errorf("simulation/bench/go.mod requires no %s", module)
	}
	return found[1], nil
}
