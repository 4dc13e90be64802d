package book_test

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

func init() {
	generators["validities"] = func([]string) (string, error) { return validities() }
	generators["rates"] = func([]string) (string, error) { return rates(), nil }
	generators["availability"] = func([]string) (string, error) { return availability(), nil }
	generators["losses"] = func([]string) (string, error) { return losses(), nil }
}

// table writes a Markdown table.
func table(head string, rows [][]string) string {
	var b strings.Builder
	columns := strings.Count(head, "|") + 1
	fmt.Fprintf(&b, "| %s |\n|%s\n", head, strings.Repeat(" --- |", columns))
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String()
}

// validities computes with the library's defaults what is left of a TTL.
func validities() (string, error) {
	atRest, err := instance.Open("redis://server", instance.Config{})
	if err != nil {
		return "", err
	}
	defer atRest.Close()
	var rows [][]string
	for _, ttl := range []time.Duration{500 * time.Millisecond, 2 * time.Second, 10 * time.Second, 30 * time.Second, 2 * time.Minute} {
		cfg := quorum.Config{Terms: quorum.Terms{TTL: ttl}}
		if def, err := completed(quorum.Config{}); err != nil {
			return "", err
		} else if least := ttl + atRest.ConnLife(); least > def.MaxTTL {
			cfg.MaxTTL = least
		}
		cfg, err := completed(cfg)
		if err != nil {
			return "", err
		}
		quick := cfg.Drift.Validity(ttl, time.Millisecond)
		slow := cfg.Drift.Validity(ttl, 2*cfg.InstanceTimeout)
		rows = append(rows, []string{
			ttl.String(), cfg.InstanceTimeout.String(), cfg.Drift.Of(ttl).String(),
			quick.String(), slow.String(), cfg.MaxTTL.String(), cfg.CounterTTL.String(),
		})
	}
	return table("TTL | InstanceTimeout | drift allowance | validity after a round of 1 ms | after the slowest round that can be won | MaxTTL, at the least its default | CounterTTL", rows), nil
}

// completed returns a Config with the defaults that New fills in, as a Coordinator on five
// instances shows them.
func completed(cfg quorum.Config) (quorum.Config, error) {
	instances := make([]wire.Instance, 5)
	for i := range instances {
		instances[i] = quorumtest.NewServer(string(rune('A'+i)), nil)
	}
	locks, err := quorum.New(cfg, instances...)
	if err != nil {
		return cfg, err
	}
	return locks.Config(), nil
}

// rates shows which rate errors an allowance covers: the largest r with validity <=
// ttl*(1-r)/(1+r).
func rates() string {
	var rows [][]string
	for _, ppm := range []int64{0, 1_000, 10_000, 50_000, 160_000} {
		a := drift.Allowance{PPM: ppm}
		covered := 0
		for r := 0; r <= 200_000; r++ {
			ttl := 10 * time.Second
			safe := time.Duration(int64(ttl) / int64(1_000_000+r) * int64(1_000_000-r))
			if a.Validity(ttl, 0) > safe {
				break
			}
			covered = r
		}
		rows = append(rows, []string{fmt.Sprintf("%.1f %%", float64(ppm)/10_000), fmt.Sprint(covered), a.Of(10 * time.Second).String()})
	}
	return table("factor | rate error covered on both sides, ppm | costs of a TTL of 10 s", rows)
}

// availability is the probability that no majority is up, if instances fail independently.
func availability() string {
	var rows [][]string
	for n := 1; n <= 7; n++ {
		row := []string{fmt.Sprint(n), fmt.Sprint(n/2 + 1), fmt.Sprint((n - 1) / 2)}
		for _, down := range []float64{0.05, 0.01, 0.001} {
			row = append(row, perYear(majorityDown(n, n/2+1, down)))
		}
		rows = append(rows, row)
	}
	return table("N | quorum | failures survived | no majority, if each is down 5 % of the time | 1 % | 0.1 %", rows)
}

func majorityDown(n, q int, down float64) float64 {
	sum := 0.0
	for up := range q {
		sum += binomial(n, up) * math.Pow(1-down, float64(up)) * math.Pow(down, float64(n-up))
	}
	return sum
}

func binomial(n, k int) float64 {
	b := 1.0
	for i := range k {
		b = b * float64(n-i) / float64(i+1)
	}
	return b
}

// perYear writes a share of time as a share of a year.
func perYear(part float64) string {
	seconds := part * 365 * 24 * 3600
	switch {
	case seconds < 60:
		return fmt.Sprintf("%.2g s a year", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%.2g min a year", seconds/60)
	case seconds < 48*3600:
		return fmt.Sprintf("%.2g h a year", seconds/3600)
	default:
		return fmt.Sprintf("%.3g days a year", seconds/3600/24)
	}
}

// losses is how many keys can be lost early before there can be two holders.
func losses() string {
	var rows [][]string
	for _, n := range []int{3, 5, 7} {
		q := n/2 + 1
		for _, higher := range []int{q, q + 1} {
			if higher > n {
				continue
			}
			// An old lease on g instances and a new quorum share at least g+q-n; each shared
			// instance must have lost the key.
			rows = append(rows, []string{
				fmt.Sprint(n), fmt.Sprint(higher), fmt.Sprint(higher + higher - n - 1), fmt.Sprint(n + higher - n - 1), fmt.Sprint(n - higher),
			})
		}
	}
	return table("N | Quorum | losses survived by a bare quorum | by a lease on all N | failures survived", rows)
}
