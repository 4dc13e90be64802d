const pause = (ns) => [{ kind: "pause", process: "c1", op: "write", nth: 1, for_ns: ns }];

// tour is for a first reader: each step is a state of the page, and what to see there. It takes about
// four minutes. In a step with slide the reader can change the length of the pause. The controls are
// hidden, except in a step that is free.
export const tour = [
  { title: "A lock that expires", state: { base: "S1", design: "default", schedule: [] },
    text: "Two clients, c1 and c2, use the same lock, whose key is on five servers, A to E. A client’s bar shows when the client believes that it holds the lock. The thin bars below show whose key each server has. The large dots in the resource’s lane are writes. Nothing goes wrong here: c2 asks for the lock long after c1 has released it. A lease lasts 10 seconds, minus a little for clocks that drift. Each has a number, its token." },
  { title: "The holder is paused", state: { base: "S1", design: "default" },
    text: "Now c1 stops for 12 seconds, after it has checked its lease and before it writes. Its lease ends, and c2 gets the lock and writes. Then c1 wakes up and overwrites what c2 wrote. A red line shows where a check finds a violation." },
  { title: "How long is too long?", slide: true, state: { base: "S1", design: "default", schedule: pause(6e9) },
    text: "The same pause, but only 6 seconds long. The lease lasts longer than the pause, so nobody else can get the lock before c1 has written. When c1 wakes up, the time for its request is over: it sends the write, no longer waits for the reply, and releases the lock, so its bar ends just before the write arrives. Once the lease has ended, it depends on whether c2 comes before c1 wakes up. Make the pause longer until the lock breaks. Each change starts a new run of the library’s real code. “Event by event” below describes the run in words." },
  { title: "A token at the resource", state: { base: "S1", design: "token-admit" },
    text: "12 seconds again. Leases have had tokens all along, and c2’s is larger than c1’s; both are below the drawing. Now the resource checks them: it refuses a token smaller than one that it has seen. c1’s late write is refused: the green ring. Look at “Side by side” below: one Redis, Redlock and this library without a token check all break, so Redlock isn’t the cause. The token is Kleppmann’s main argument. About the pause, antirez agrees." },
  { title: "A pause before the replies", state: { base: "S3", design: "default" },
    text: "Kleppmann’s other pause stops c1 while the servers’ replies are in flight. Here antirez is right: after the replies c1 looks at the clock again, sees that too much time has passed, and gives up." },
  { title: "A clock that jumps", state: { base: "S4", design: "redlock" },
    text: "This is Redlock as the Redis documentation describes it. c1 reaches only A, B and C, and has the lock there. Then C’s clock jumps forward, and C drops c1’s key too early. c2 gets votes from C, D and E: two holders. Both authors agree that this breaks Redlock." },
  { title: "A client can notice", state: { base: "S4", design: "default" },
    text: "The same jump, with this library. Each client compares the servers’ clocks with its own. If a server’s clock has jumped, the client ignores that server’s votes until every lease that the server may have forgotten has expired." },
  { title: "A server that forgets", state: { base: "S7", design: "redlock" },
    text: "A server crashes and comes back without its data. It votes for c2, although it has voted for c1." },
  { title: "A server that has just started", state: { base: "S7", design: "default" },
    text: "The same crash, with this library. It ignores the votes of a server that has just started, until every lease that the server may have forgotten has expired." },
  { title: "Now you: break it", free: true, state: { base: "S1", design: "default", schedule: [] },
    text: "No faults, and a resource that checks nothing. Add a fault, change it, and try to break the lock. Then choose token-admit, whose resource checks tokens. There is a fault against which a token doesn’t help, and another lock that survives it. The chapters above have the rest of the debate." },
];
