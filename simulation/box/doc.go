// Package box is a test bench for any Redis lock client, in any language. It starts real
// servers, breaks them, and tells which promise of the client broke, with a schedule that
// breaks it, made as short as time allows.
//
// The client is put into the box by a driver: a program of 30 to 60 lines that reads
// requests as lines of JSON and calls the client, see Request. The box starts one driver
// process for each client, and puts a link between each client and each server.
//
// # A play
//
// A Schedule is a list of steps: "c1 waits", "pause c1", "c2 waits". The box carries them
// out one after the other, and each ends with an event: an answer, a process that has
// stopped. No step waits for a time, but for the client that has to get the lock when a lease
// has expired.
//
// Leases run on the servers' clocks. On a machine so slow that a step takes a TTL, a lease can
// run out between two steps. A play with a step of half a TTL, in which that may have made a
// difference, is played again with a longer TTL, and marked if it shows a finding all the same.
// What is found without any fault, when the schedules are made shorter, is never said to be
// the work of one.
//
// # What is judged
//
// The box numbers what happens, without any clock, and does the reads and writes at the
// resource itself, for the client that says that it holds the lock. All findings follow from
// that order, see Kind. Only Slow, NoAnswer and LossUntold measure a time; they allow for a busy
// machine, and only answers count that came seconds too late.
//
// The work at the resource begins with a check: the driver is asked whether its client still
// holds the lock. A pause between that check and the write is a fault that no lock can
// prevent. If the client has fencing tokens, the resource refuses smaller ones, and such a
// write does no harm.
//
// # What is not judged
//
// A driver that breaks the protocol, by a garbled line, an unknown ID, or its death, never
// leads to a finding but to a DriverError that says what it did.
package box
