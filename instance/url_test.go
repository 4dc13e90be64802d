package instance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestOpen reads URLs of all kinds.
func TestOpen(t *testing.T) {
	for rawURL, want := range map[string]struct {
		name, network, user, password string
		db                            int
		tls                           bool
	}{
		"redis://h":                       {name: "h:6379", network: "tcp"},
		"redis://":                        {name: "localhost:6379", network: "tcp"},
		"REDIS://H.Example.:07/":          {name: "h.example:7", network: "tcp"},
		"redis://:pw@h:7/3":               {name: "h:7", network: "tcp", password: "pw", db: 3},
		"rediss://u:p%40%2F%23@h":         {name: "h:6379", network: "tcp", user: "u", password: "p@/#", tls: true},
		"rediss://h/0?skip_verify=true":   {name: "h:6379", network: "tcp", tls: true},
		"redis://[::1]:9":                 {name: "[::1]:9", network: "tcp"},
		"redis://[FE80:0::1%25enP4p1s0]":  {name: "[fe80::1%enP4p1s0]:6379", network: "tcp"},
		"redis://[0:0::1]?db=2":           {name: "[::1]:6379", network: "tcp", db: 2},
		"unix:///run//redis.sock":         {name: "/run/redis.sock", network: "unix"},
		"unix://u:p@/run/redis.sock?db=1": {name: "/run/redis.sock", network: "unix", user: "u", password: "p", db: 1},
	} {
		r, err := Open(rawURL, Config{})
		require.NoError(t, err, rawURL)
		opt := r.Client().Options()
		require.Equal(t, want.name, r.Name(), rawURL)
		require.Equal(t, want.name, opt.Addr, rawURL)
		require.Equal(t, want.network, opt.Network, rawURL)
		require.Equal(t, want.user, opt.Username, rawURL)
		require.Equal(t, want.password, opt.Password, rawURL)
		require.Equal(t, want.db, opt.DB, rawURL)
		require.Equal(t, want.tls, opt.TLSConfig != nil, rawURL)
		require.NoError(t, checkOptions(r.Client()), rawURL)
		require.NoError(t, r.Close())
	}
	r, err := Open("redis://h?dial_timeout=1s&read_timeout=2500ms&write_timeout=3s&pool_size=9&client_name=lock", Config{})
	require.NoError(t, err)
	opt := r.Client().Options()
	require.Equal(t, []any{time.Second, 2500 * time.Millisecond, 3 * time.Second, 9, "lock"},
		[]any{opt.DialTimeout, opt.ReadTimeout, opt.WriteTimeout, opt.PoolSize, opt.ClientName})
	require.NoError(t, r.Close())
}

// TestBadURLs names the fault and never repeats the password, wherever an unescaped one has ended
// up.
func TestBadURLs(t *testing.T) {
	const pw = "s3cr3t"
	for rawURL, says := range map[string]string{
		"":                                      "scheme",
		"h:6379":                                "scheme",
		"127.0.0.1:6379":                        "read",
		"memory://:" + pw + "@h":                "inside the process",
		"http://:" + pw + "@h":                  "scheme",
		"redis-sentinel://:" + pw + "@h":        "scheme",
		"redis:" + pw + "@h":                    "//",
		"redis://:" + pw + "#x@h":               "read",
		"redis://:pw@h#" + pw:                   "%23",
		"redis://:1/" + pw + "@h":               "path",
		"redis://:" + pw + "/x@h":               "read",
		"redis://:12?" + pw + "@h":              "parameter is unknown",
		"redis://:12?db=" + pw + "@h":           "parameter db",
		"redis://:%zz" + pw + "@h":              "read",
		"redis://" + pw + "%25h":                "no host name can have",
		"redis://[fe80::1%25h," + pw + "]":      "no host name can have",
		"redis://:" + pw + "@h:x":               "read",
		"redis://:" + pw + "@h:0":               "port",
		"redis://:" + pw + "@h:70000":           "port",
		"redis://:" + pw + "@h/x":               "path",
		"redis://:" + pw + "@h/-1":              "path",
		"redis://:" + pw + "@h/01":              "path",
		"redis://:" + pw + "@h/1/2":             "path",
		"redis://:" + pw + "@h/1?db=1":          "twice",
		"redis://:" + pw + "@h?db=1&db=1":       "twice",
		"redis://:" + pw + "@h?db=":             "parameter db",
		"redis://:" + pw + "@h?max_retries=3":   "not accepted",
		"redis://:" + pw + "@h?protocol=3":      "not accepted",
		"redis://:" + pw + "@h?read_timeout=0":  "read_timeout",
		"redis://:" + pw + "@h?read_timeout=-1": "read_timeout",
		"redis://:" + pw + "@h?read_timeout=3":  "read_timeout",
		"redis://:" + pw + "@h?read_timeout=2h": "read_timeout",
		"redis://:" + pw + "@h?write_timeout=x": "write_timeout",
		"redis://:" + pw + "@h?pool_size=0":     "pool_size",
		"redis://:" + pw + "@h?skip_verify=1":   "rediss",
		"rediss://:" + pw + "@h?skip_verify=x":  "skip_verify",
		"redis://:" + pw + "@h?client_name=a+b": "client_name",
		"redis://:" + pw + "@h?x=1;y=2":         "parameters",
		"redis://:" + pw + "@a,b":               "one server",
		"redis://u:" + pw + ":h:6379":           "an @ between password and host",
		"redis://:" + pw + ":h:6379/0":          "an @ between password and host",
		"rediss://:" + pw + ":6379":             "an @ between password and host",
		"redis://::" + pw + ":6379":             "an @ between password and host",
		"redis://u:" + pw + ":h":                "read",
		"redis://:" + pw + ":":                  "an @ between password and host",
		"redis://" + pw + "@h":                  "put a colon before it",
		"redis://" + pw + ":@h":                 "put a colon before it",
		"unix://" + pw + "@/a/b":                "put a colon before it",
		"unix://:" + pw + "@":                   "path is missing",
		"unix:///":                              "path is missing",
		"unix://run/redis.sock":                 "no host",
		"unix:///a%FF" + pw:                     "printed",
		"redis://:" + pw + "@h\x00":             "read",
		"redis://:" + pw + " x@h y":             "read",
	} {
		r, err := Open(rawURL, Config{})
		require.Nil(t, r, rawURL)
		require.ErrorIs(t, err, ErrURL, rawURL)
		require.ErrorContains(t, err, says, rawURL)
		require.NotContains(t, err.Error(), pw, rawURL)
	}
}

// TestOpenAll opens all or none.
func TestOpenAll(t *testing.T) {
	g, err := OpenAll(Config{}, "redis://a", "redis://b:6380/2", "unix:///run/c.sock")
	require.NoError(t, err)
	var names []string
	for i, inst := range g.Instances() {
		names = append(names, inst.Name())
		require.Same(t, g.Members()[i], inst)
	}
	require.Equal(t, []string{"a:6379", "b:6380", "/run/c.sock"}, names)
	require.NoError(t, g.Close())
	require.NoError(t, g.Close())
	for _, r := range g.Members() {
		require.ErrorIs(t, r.Do(t.Context(), every1()).Err, ErrClosed)
	}

	for _, twice := range [][]string{
		{"redis://a", "redis://b", "redis://A:6379/"},
		{"redis://a.", "rediss://u:pw@a:06379/5"},
		{"redis://[::1]", "redis://[0::1]:6379"},
		{"unix:///a/b", "unix:///a//x/../b"},
	} {
		_, err := OpenAll(Config{}, twice...)
		require.ErrorIs(t, err, ErrURL, "%v", twice)
		require.ErrorContains(t, err, "list each server once")
		require.NotContains(t, err.Error(), "pw")
	}
	_, err = OpenAll(Config{}, "redis://a", "redis://b?max_retries=1")
	require.ErrorIs(t, err, ErrURL)
	require.ErrorContains(t, err, "URL 2 of 2")
	for _, cfg := range []Config{{Name: "x"}, {VouchedRunID: "x"}, {Replicas: -1}} {
		_, err = OpenAll(cfg, "redis://a", "redis://b")
		require.ErrorIs(t, err, ErrConfig)
	}
	_, err = OpenAll(Config{})
	require.ErrorIs(t, err, ErrConfig)
}

// FuzzOpen: any text gives an instance or an ErrURL, which repeats no password.
func FuzzOpen(f *testing.F) {
	for _, seed := range []string{"redis://u:QQpwQQ@h:1/2?db=3", "rediss://:QQpwQQ@[::1]", "unix://:QQpwQQ@/a/b?db=1", "redis://:QQ/pwQQ@h", "redis://h?QQpwQQ", "redis://QQpwQQ#", "://", "redis://:%QQpwQQ@"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, rawURL string) {
		r, err := Open(rawURL, Config{})
		if err != nil {
			require.Nil(t, r)
			require.NotContains(t, err.Error(), "QQpwQQ")
			require.ErrorIs(t, err, ErrURL)
			return
		}
		require.NoError(t, checkOptions(r.Client()))
		require.NotEmpty(t, r.Name())
		require.NoError(t, r.Close())
	})
}
