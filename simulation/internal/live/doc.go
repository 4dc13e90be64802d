// Package live plays the scenarios of package scenarios on real servers and checks whether
// they end as the simulation predicts.
//
// The plays are those of package box. Drive is the driver: it puts a lock design of package
// designs, on the same code as in the simulation, into the box. A case has the steps that play its
// scenario. A play that ends otherwise than predicted may mean that the machine was too slow: the
// case is played again, with a longer TTL, up to three times.
//
// The checks of package check, which judge simulated runs, are applied to the record of the play.
// Unlike the box, this counts a write that is sent too late as a sign of a second holder, as the
// simulation does. What the clients did and were told is compared with the scenario's verdict.
package live
