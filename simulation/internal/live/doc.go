// Package live plays the scenarios of package scenarios on real servers and checks whether
// they end as the simulation predicts.
//
// The plays are those of package box: redis-server processes, client processes that are
// stopped and killed, links that are cut and held back, servers whose clocks jump and whose
// disks lose what was not synced. Design is the driver: it puts a lock design of package
// designs, on the same code as in the simulation, into the box.
//
// # What is played
//
// A case has the steps that play its scenario, as a schedule of the box. A step that came to
// nothing, or a client that got the lock and should not have, may mean that the machine was too
// slow: the case is played again, with a longer TTL.
//
// # How results are checked
//
// The checks of package check, which judge simulated runs, are applied to the record of the
// play, in which the order of the entries is the time. Unlike the box, this counts a write that is sent too late as a sign of
// a second holder, as the simulation does.
//
// # What the box does not have
//
// Predictions, designs and the comparison are here, because the box knows no simulation. It
// judges clients by what they may promise, not by what a scenario says.
//
// Scenarios that have no live form say why, in Scenario.Unplayed. For instance, a single process
// cannot be given a suspended machine or a stepped wall clock.
package live
