// Package wire is the boundary between package quorum and the servers: the Requests that
// a Coordinator sends, the Votes that it gets, and the Instance that carries both. Implementers
// of an Instance or a Notifier need it. Users that only take locks meet a few of its types in
// errors and hooks.
//
// Package instance implements Instance on go-redis, package quorum/memory inside the process, package
// simulation on a server in virtual time. Check of package quorum/quorumtest/contract holds every
// implementation to the contract that is written here.
package wire
