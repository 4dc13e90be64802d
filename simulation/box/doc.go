// Package box is a test bench for any Redis lock client, in any language. It starts real
// servers, breaks them, and tells which promise of the client broke, with a schedule that
// breaks it, made as short as time allows. docs/reference/driver.md is its manual.
//
// The client is put into the box by a driver, see package driver. The box starts one driver
// process for each client, puts a link between each client and each server, and carries out a
// Schedule step by step. Each step ends with an event: an answer, a process that has stopped. No
// step waits for a fixed time. Where a lease has to expire, the step waits until the next client has
// the lock.
//
// The box records what happens, and does the reads and writes at the resource itself, for the
// client that says that it holds the lock. All findings follow from the order of the record, see
// Kind. Only NoProgress, NoAnswer, LossUntold and Slow depend on a clock; they allow for a busy machine.
//
// A Fleet is the servers alone, with their faults, for tests that have clients of their own:
// docs/reference/servers.md.
//
// A driver that breaks the protocol, by a garbled line, an unknown ID, or its death, never
// leads to a finding but to a DriverError that says what it did.
package box
