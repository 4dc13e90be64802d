// Command redlocksim shows what Redlock does and does not promise, by running it.
//
//	redlocksim                                       eight faults against five designs; the page redlock-report.html
//	redlocksim list S4                               a scenario in full, with the expected results
//	redlocksim run S4 -design redlock                one run, with its timeline
//	redlocksim matrix -seeds 1000                    with confidence intervals, kinds and first seeds
//	redlocksim live                                  the scenarios on real servers
//	redlocksim box -- python3 driver.py              any lock client on real servers with faults
//	redlocksim servers -n 3                          real servers for tests of your own, with faults over HTTP
//	redlocksim explore -design default -seeds 5000   random faults: what breaks a design, made small
//	redlocksim explore -within                       only covered faults: every finding is a bug
//
// Every command exits with 0 on success, 1 on failure and 2 for wrong usage. box -h has its other codes.
package main

import (
	"os"

	"github.com/redquorum/redlock/simulation/internal/command"
)

func main() { command.Main("", os.Args[1:]) }
