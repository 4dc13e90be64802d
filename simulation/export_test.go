package simulation

import "time"

// DrawConfig draws the latencies and the servers' replicas from a seed.
func DrawConfig(seed uint64, cfg Config) Config {
	d := drawer{seed: seed, n: 1 << 20, cfg: cfg}
	if d.coin(1) {
		cfg.LatencyMin = d.length(2, 20*time.Millisecond)
		cfg.LatencyMax = cfg.LatencyMin + d.length(4, 20*time.Millisecond) + 1
	}
	if d.coin(10) {
		cfg.Replicas = 1 + d.pick(11, 2)
	}
	return cfg
}
