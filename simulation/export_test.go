package simulation

import "time"

// DrawConfig draws the fields of cfg that are zero from a seed: latencies, age of the servers, and their
// replicas. Other fields stay unchanged.
func DrawConfig(seed uint64, cfg Config) Config {
	d := drawer{seed: seed, n: 1 << 20, cfg: cfg}
	if cfg.LatencyMin == 0 && cfg.LatencyMax == 0 && d.coin(1) {
		cfg.LatencyMin = d.length(2, 20*time.Millisecond)
		cfg.LatencyMax = cfg.LatencyMin + d.length(4, 20*time.Millisecond) + 1
	}
	if cfg.ServerAge == 0 && d.coin(7) {
		cfg.ServerAge = d.length(8, 20*time.Second) + 1
	}
	if cfg.Replicas == 0 && d.coin(10) {
		cfg.Replicas = 1 + d.pick(11, 2)
	}
	return cfg
}
