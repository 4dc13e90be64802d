package book_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The columns of the comparison name the versions that the benchmark requires, because a later version may have gained
// a feature.
func TestComparisonNamesVersions(t *testing.T) {
	gomod, err := os.ReadFile("../simulation/bench/go.mod")
	require.NoError(t, err)
	page, err := os.ReadFile("choosing.md")
	require.NoError(t, err)
	for name, module := range map[string]string{"redsync": "go-redsync/redsync/v4", "rueidislock": "redis/rueidis", "bsm/redislock": "bsm/redislock"} {
		version := regexp.MustCompile(`\tgithub.com/` + module + ` (v\S+)`).FindStringSubmatch(string(gomod))
		require.NotNil(t, version, module)
		assert.Contains(t, string(page), "| "+name+" "+version[1]+" |")
	}
}
