package quorum_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

func bareServers(names ...string) []wire.Instance {
	instances := make([]wire.Instance, len(names))
	for i, name := range names {
		instances[i] = quorumtest.NewServer(name, nil)
	}
	return instances
}

// Every bad value is refused, with a message that names the field, the value and the fix.
func TestConfigRefusesBadValues(t *testing.T) {
	for _, test := range []struct {
		name  string
		cfg   quorum.Config
		wants []string
	}{
		{"TTL negative", quorum.Config{TTL: -time.Second}, []string{" TTL is -1s", "at least 1ms"}},
		{"TTL under a millisecond", quorum.Config{TTL: 500 * time.Microsecond}, []string{" TTL is 500µs", "at least 1ms"}},
		{"TTL not whole", quorum.Config{TTL: time.Second + 300*time.Microsecond}, []string{" TTL is 1.0003s", "whole milliseconds, such as 1s"}},
		{"TTL above ten years", quorum.Config{TTL: 11 * 365 * 24 * time.Hour}, []string{" TTL is 96360h0m0s", "at most ten years"}},
		{"TTL without an end", quorum.Config{TTL: math.MaxInt64}, []string{" TTL is 2562047h47m16.854775807s", "at most ten years"}},
		{"TTL above MaxTTL", quorum.Config{TTL: time.Minute, MaxTTL: time.Second}, []string{"TTL is 1m0s", "MaxTTL is 1s", "raise MaxTTL"}},
		{"TTL eaten by the default timeout", quorum.Config{TTL: ms}, []string{" TTL is 1ms", "InstanceTimeouts (1ms each)", "raise TTL or lower"}},
		{"TTL eaten by timeouts", quorum.Config{TTL: time.Second, InstanceTimeout: 500 * ms}, []string{"TTL is 1s", "500ms each", "12ms", "raise TTL or lower"}},
		{"TTL eaten by drift", quorum.Config{TTL: time.Second, Lab: quorum.Lab{Drift: drift.Allowance{Floor: 900 * ms}}}, []string{"TTL is 1s", "900ms", "raise TTL or lower"}},
		{"TTL eaten by MinValidity", quorum.Config{TTL: time.Second, MinValidity: 890 * ms}, []string{"TTL is 1s", "MinValidity (890ms)", "raise TTL or lower"}},
		{"MinValidity negative", quorum.Config{MinValidity: -1}, []string{"MinValidity -1ns", "none may be negative"}},
		{"MaxTries negative", quorum.Config{MaxTries: -2}, []string{"MaxTries -2", "none may be negative"}},
		{"MaxWait negative", quorum.Config{MaxWait: -time.Second}, []string{"MaxWait -1s", "none may be negative"}},
		{"MaxLife negative", quorum.Config{MaxLife: -time.Second}, []string{"MaxLife -1s", "none may be negative"}},
		{"MaxLife under TTL", quorum.Config{MaxLife: time.Second}, []string{"MaxLife is 1s", "TTL (10s)", "raise it"}},
		{"Quorum under a majority", quorum.Config{Quorum: 2}, []string{"Quorum is 2", "3 to 5", "two clients"}},
		{"Quorum negative", quorum.Config{Quorum: -3}, []string{"Quorum is -3", "3 to 5"}},
		{"Quorum above N", quorum.Config{Quorum: 6}, []string{"Quorum is 6", "3 to 5"}},
		{"InstanceTimeout too short", quorum.Config{InstanceTimeout: 999 * time.Microsecond}, []string{"InstanceTimeout is 999µs", "at least 1ms"}},
		{"InstanceTimeout negative", quorum.Config{InstanceTimeout: -1}, []string{"InstanceTimeout is -1ns", "at least 1ms"}},
		{"InstanceTimeout without an end", quorum.Config{InstanceTimeout: math.MaxInt64}, []string{"InstanceTimeout is 2562047h47m16.854775807s", "less than half of TTL"}},
		{"Drift rate", quorum.Config{Lab: quorum.Lab{Drift: drift.Allowance{PPM: 600_000}}}, []string{"Lab.Drift", "600000", "0 to 500000"}},
		{"Drift floor", quorum.Config{Lab: quorum.Lab{Drift: drift.Allowance{Floor: -1}}}, []string{"Lab.Drift", "-1ns", "0 to 1h"}},
		{"MaxTTL not whole", quorum.Config{MaxTTL: time.Minute + 1}, []string{"MaxTTL is 1m0.000000001s", "whole milliseconds"}},
		{"MaxTTL negative", quorum.Config{MaxTTL: -time.Minute}, []string{"MaxTTL is -1m0s", "at least 1ms"}},
		{"ClockEvery", quorum.Config{Lab: quorum.Lab{ClockEvery: -time.Second}}, []string{"Lab.ClockEvery is -1s", "more than zero"}},
		{"MaxLife above ten years", quorum.Config{MaxLife: 11 * 365 * 24 * time.Hour}, []string{"MaxLife is 96360h0m0s", "at most 87600h0m0s", "zero for no bound"}},
		{"MaxInFlight", quorum.Config{Lab: quorum.Lab{MaxInFlight: -1}}, []string{"Lab.MaxInFlight is -1", "more than zero"}},
		{"MaxPendingDeletes", quorum.Config{Lab: quorum.Lab{MaxPendingDeletes: -7}}, []string{"Lab.MaxPendingDeletes is -7", "more than zero"}},
		{"BackoffMin", quorum.Config{Lab: quorum.Lab{BackoffMin: -ms}}, []string{"Lab.BackoffMin is -1ms", "more than zero"}},
		{"BackoffMax negative", quorum.Config{Lab: quorum.Lab{BackoffMax: -ms}}, []string{"Lab.BackoffMax is -1ms", "at least Lab.BackoffMin, which is 10ms"}},
		{"BackoffMax under BackoffMin", quorum.Config{Lab: quorum.Lab{BackoffMin: time.Second, BackoffMax: 500 * ms}}, []string{"Lab.BackoffMax is 500ms", "BackoffMin, which is 1s"}},
		{"BackoffMax without an end", quorum.Config{Lab: quorum.Lab{BackoffMax: math.MaxInt64}}, []string{"Lab.BackoffMax is 2562047h47m16.854775807s", "at most 8760h0m0s"}},
		{"Owner too long", quorum.Config{Owner: strings.Repeat("x", 65)}, []string{"Owner has 65 bytes", "at most 64"}},
		{"Owner with a space", quorum.Config{Owner: "two words"}, []string{`Owner "two words"`, "' '", "printable ASCII"}},
		{"Owner not ASCII", quorum.Config{Owner: "é"}, []string{"Owner", "printable ASCII"}},
		{"Set.Name too long", quorum.Config{Set: wire.Set{Name: strings.Repeat("x", 65)}}, []string{"Set.Name has 65 bytes", "at most 64"}},
		{"Set.Name with a character", quorum.Config{Set: wire.Set{Name: "a b"}}, []string{`Set.Name "a b"`, "' '", "use letters"}},
		{"Set.N", quorum.Config{Set: wire.Set{N: 5}}, []string{"Set.N, Set.Q and Set.MaxTTL are 5, 0 and 0s", "leave them zero"}},
		{"Set.Q", quorum.Config{Set: wire.Set{Q: 3}}, []string{"Set.N, Set.Q and Set.MaxTTL are 0, 3 and 0s", "leave them zero"}},
		{"Set.MaxTTL", quorum.Config{Set: wire.Set{MaxTTL: time.Minute}}, []string{"are 0, 0 and 1m0s", "leave them zero"}},
		{"Fencing", quorum.Config{Lab: quorum.Lab{Fencing: 2}}, []string{"Lab.Fencing is 2", "On (0) or Off (1)"}},
		{"RestartQuarantine", quorum.Config{Lab: quorum.Lab{RestartQuarantine: 3}}, []string{"Lab.RestartQuarantine is 3", "On (0) or Off (1)"}},
		{"ClockMonitor", quorum.Config{Lab: quorum.Lab{ClockMonitor: 255}}, []string{"Lab.ClockMonitor is 255", "On (0) or Off (1)"}},
		{"Notifications", quorum.Config{Lab: quorum.Lab{Notifications: 2}}, []string{"Lab.Notifications is 2", "On (0) or Off (1)"}},
		{"TTL above the default MaxTTL", quorum.Config{TTL: 31 * time.Second}, []string{"TTL is 31s", "MaxTTL is 30s", "raise MaxTTL in all clients"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := quorum.New(test.cfg, bareServers("A", "B", "C", "D", "E")...)
			require.ErrorIs(t, err, quorum.ErrConfig)
			assert.Nil(t, c)
			for _, want := range test.wants {
				assert.Contains(t, err.Error(), want)
			}
		})
	}
}

func TestConfigAcceptsWhatIsAtTheLimits(t *testing.T) {
	for name, cfg := range map[string]quorum.Config{
		"all defaults":            {},
		"quorum of all":           {Quorum: 5},
		"shortest practical TTL":  {TTL: 5 * ms, InstanceTimeout: ms},
		"MinValidity just met":    {TTL: time.Second, MinValidity: 888*ms - 1},
		"MaxLife of ten years":    {MaxLife: 10 * 365 * 24 * time.Hour},
		"MaxLife of one TTL":      {MaxLife: 10 * time.Second},
		"equal back-offs":         {Lab: quorum.Lab{BackoffMin: time.Second, BackoffMax: time.Second}},
		"back-off above default":  {Lab: quorum.Lab{BackoffMin: time.Hour}},
		"longest owner":           {Owner: strings.Repeat("~", 64)},
		"longest set name":        {Set: wire.Set{Name: strings.Repeat("a", 64), Version: 1<<64 - 1}},
		"a TTL of a month":        {TTL: 30 * 24 * time.Hour, MaxTTL: 30 * 24 * time.Hour},
		"drift at its upper ends": {TTL: 10 * time.Hour, MaxTTL: 10 * time.Hour, Lab: quorum.Lab{Drift: drift.Allowance{PPM: 500_000, Floor: time.Hour}}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := quorum.New(cfg, bareServers("A", "B", "C", "D", "E")...)
			require.NoError(t, err)
			require.NoError(t, c.Close(t.Context()))
		})
	}
}

// The default InstanceTimeout follows the TTL, between 50 and 500 ms. A round of two stages never
// takes more than half of the TTL.
func TestConfigDefaultInstanceTimeout(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{
		100 * ms:         25 * ms,
		time.Second:      50 * ms,
		10 * time.Second: 100 * ms,
		30 * time.Second: 300 * ms,
		time.Minute:      500 * ms,
		10 * time.Hour:   500 * ms,
	} {
		play(t, 1, func(f *fixture) {
			f.hang()
			began := time.Now()
			f.tryFails("k", wire.ErrTimeout)
			assert.Equal(f.t, want, time.Since(began), "TTL %v", ttl)
			f.resume()
			f.requireNothingLeft()
		}, func(cfg *quorum.Config) { cfg.TTL = ttl })
	}
}

func TestNewRefusesBadInstances(t *testing.T) {
	good := quorumtest.NewServer("A", nil)
	for _, test := range []struct {
		name      string
		instances []wire.Instance
		wants     []string
	}{
		{"none", nil, []string{"no instances", "give one Instance for each independent master"}},
		{"nil", []wire.Instance{good, nil}, []string{"instance 1 is nil"}},
		{"typed nil", []wire.Instance{good, (*quorumtest.Server)(nil)}, []string{"instance 1 is nil"}},
		{"no name", []wire.Instance{good, quorumtest.NewServer("", nil)}, []string{"instance 1 has no name"}},
		{"twice", []wire.Instance{good, quorumtest.NewServer("B", nil), good}, []string{"instances 0 and 2", `"A"`, "list each server once"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := quorum.New(quorum.Config{}, test.instances...)
			require.ErrorIs(t, err, quorum.ErrConfig)
			assert.Nil(t, c)
			for _, want := range test.wants {
				assert.ErrorContains(t, err, want)
			}
		})
	}
	_, err := quorum.New(quorum.Config{}, good, good)
	assert.ErrorIs(t, err, quorum.ErrDuplicate)
}

// An even N is allowed, and needs one grant more than the odd number below it.
func TestNewWithEvenN(t *testing.T) {
	play(t, 4, func(f *fixture) {
		assert.Equal(f.t, wire.Set{N: 4, Q: 3, MaxTTL: 10 * time.Second}, f.Set())
		f.kill(0)
		require.NoError(f.t, f.acquire("k").Release(f.ctx))
		f.kill(1)
		f.tryFails("k", quorum.ErrNoQuorum)
		f.requireNothingLeft()
	})
}

func TestKeysThatAreRefused(t *testing.T) {
	play(t, 3, func(f *fixture) {
		for _, test := range []struct {
			key   string
			wants []string
		}{
			{"", []string{"key is empty", "give the resource a name"}},
			{strings.Repeat("k", 1025), []string{"key has 1025 bytes", "at most 1024", "use a hash"}},
			{"a\x00b", []string{`"a\x00b"`, "at byte 1"}},
			{"a{b", []string{`"a{b"`, `'{'`, "at byte 1"}},
			{"a}", []string{`'}'`, "at byte 1"}},
		} {
			calls := map[string]func() error{
				"TryAcquire": func() error { _, err := f.TryAcquire(f.ctx, test.key); return err },
				"Acquire":    func() error { _, err := f.Acquire(f.ctx, test.key); return err },
				"Inspect":    func() error { _, err := f.Inspect(f.ctx, test.key); return err },
				"Do": func() error {
					return f.Do(f.ctx, test.key, func(context.Context, *quorum.Lease) error {
						f.t.Error("work ran without a lock")
						return nil
					})
				},
			}
			for name, call := range calls {
				err := call()
				require.ErrorIs(f.t, err, quorum.ErrConfig, name)
				for _, want := range test.wants {
					assert.ErrorContains(f.t, err, want, name)
				}
			}
		}
		for i := range f.servers {
			assert.Empty(f.t, f.log(i), "nothing is sent for a key that can't be used")
		}
		for _, key := range []string{strings.Repeat("k", 1024), "ключ", " ", "a:b/c\n"} {
			require.NoError(f.t, f.acquire(key).Release(f.ctx))
		}
		f.requireNothingLeft()
	})
}

func TestWithTerms(t *testing.T) {
	play(t, 3, func(f *fixture) {
		view, err := f.WithTerms(func(t *quorum.Terms) { t.TTL = time.Minute })
		require.NoError(f.t, err)
		assert.Equal(f.t, quorum.Terms{TTL: time.Minute, MaxTries: 7, MaxLife: time.Hour, KeepAlive: true}, view.Terms(), "the rest is the same")
		assert.Equal(f.t, quorum.Terms{TTL: 20 * time.Second, MaxTries: 7, MaxLife: time.Hour, KeepAlive: true}, f.Terms(), "the original is as it was")
		lease := f.acquireBy(view, "k")
		assert.Equal(f.t, time.Minute-600*ms-2*ms, lease.Validity())
		f.tryFails("k", quorum.ErrTaken)

		// A view behaves like the original.
		plain, err := view.WithTerms(func(t *quorum.Terms) { t.KeepAlive, t.MinValidity = false, time.Second })
		require.NoError(f.t, err)
		assert.Equal(f.t, quorum.Terms{TTL: time.Minute, MaxTries: 7, MaxLife: time.Hour, MinValidity: time.Second}, plain.Terms())

		for name, terms := range map[string]quorum.Terms{
			"above MaxTTL": {TTL: time.Minute + ms}, "too short": {TTL: 100 * ms}, "negative": {MaxWait: -1},
			"part of a ms": {TTL: time.Second + 1}, "MinValidity": {TTL: 10 * time.Second, MinValidity: 20 * time.Second}, "MaxLife": {TTL: 10 * time.Second, MaxLife: time.Second}, "no TTL": {},
		} {
			_, err := f.WithTerms(func(t *quorum.Terms) { *t = terms })
			assert.ErrorIs(f.t, err, quorum.ErrConfig, name)
		}
		f.giveBack(lease)

		// The view is closed with the original.
		require.NoError(f.t, f.Close(f.ctx))
		_, err = view.TryAcquire(f.ctx, "k")
		assert.ErrorIs(f.t, err, quorum.ErrClosed)
	}, func(cfg *quorum.Config) {
		cfg.TTL, cfg.MaxTries, cfg.MaxTTL, cfg.MaxLife, cfg.KeepAlive = 20*time.Second, 7, time.Minute, time.Hour, true
	})
}

// connected is an instance whose connections stay open when its address moves.
type connected struct {
	wire.Instance
	life time.Duration
}

func (c connected) ConnLife() time.Duration { return c.life }

// The lifetime of connections to a previous server comes off MaxTTL.
func TestTermsLeaveTimeForOldConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := func(name string, life time.Duration) wire.Instance {
			return connected{quorumtest.NewServer(name, nil), life}
		}
		open := func(cfg quorum.Config, instances ...wire.Instance) (*quorum.Coordinator, error) {
			c, err := quorum.New(cfg, instances...)
			if err == nil {
				t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
			}
			return c, err
		}
		cfg := quorum.Config{TTL: 10 * time.Second, MaxTTL: 15 * time.Second}
		fixed, quick, slow := server("A", 0), server("B", 5*time.Second), server("C", 6*time.Second)

		_, err := open(cfg, fixed, quick, slow)
		require.ErrorIs(t, err, quorum.ErrConfig)
		for _, part := range []string{"TTL is 10s", "MaxTTL is 15s", "6s of that", "raise MaxTTL", "FixedAddress"} {
			require.ErrorContains(t, err, part)
		}
		_, err = open(cfg, server("A", math.MaxInt64))
		require.ErrorIs(t, err, quorum.ErrConfig, "connections that stay open forever")
		cfg.Lab.RestartQuarantine = quorum.Off
		_, err = open(cfg, fixed, quick, slow)
		require.NoError(t, err, "nobody waits for MaxTTL")
		cfg.Lab.RestartQuarantine = quorum.On
		c, err := open(cfg, fixed, quick)
		require.NoError(t, err)
		_, err = c.WithTerms(func(terms *quorum.Terms) { terms.TTL += time.Millisecond })
		require.ErrorIs(t, err, quorum.ErrConfig)

		from, err := open(quorum.Config{TTL: 12 * time.Second, MaxTTL: 15 * time.Second}, fixed)
		require.NoError(t, err)
		require.NoError(t, from.Trust(t.Context()))
		lease, err := from.TryAcquire(t.Context(), "k")
		require.NoError(t, err)
		handle, err := lease.HandOff(t.Context())
		require.NoError(t, err)
		to, err := open(quorum.Config{TTL: time.Second, MaxTTL: 15 * time.Second}, server("A", 5*time.Second))
		require.NoError(t, err)
		_, err = to.Resume(t.Context(), handle)
		require.ErrorIs(t, err, quorum.ErrConfig)
		require.ErrorContains(t, err, "TTL is 12s")
	})
}

// A client with a shorter MaxTTL would count a server's votes before leases that it has forgotten
// have expired. So the server refuses it and reports both values.
func TestClientsAgreeOnMaxTTL(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		other := f.other(func(cfg *quorum.Config) { cfg.TTL, cfg.MaxTTL = time.Second, time.Second })
		_, err := other.Acquire(f.ctx, "k")
		require.ErrorIs(t, err, quorum.ErrSetMismatch)
		assert.ErrorContains(t, err, "MaxTTL=1s")
		assert.ErrorContains(t, err, "MaxTTL=10s")
		assert.NotErrorIs(t, err, quorum.ErrExhausted, "no waiting helps")
		require.NoError(t, lease.Release(f.ctx))
		require.NoError(t, f.Settle(f.ctx))

		// A higher version takes over, and then the servers refuse the others.
		next := f.other(func(cfg *quorum.Config) { cfg.MaxTTL, cfg.Set.Version = time.Minute, 1 })
		lease = f.acquireBy(next, "k")
		require.NoError(t, lease.Release(f.ctx))
		f.tryFails("k", quorum.ErrSetMismatch)
	})
}
