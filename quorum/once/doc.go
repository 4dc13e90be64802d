// Package once lets at most one process run the job of a slot. It uses a lock of package quorum.
// A slot is a time at which a job is due in several processes, such as the start of each minute.
//
//	job, err := once.New(locks, "report", once.Config{})
//	...
//	slots, err := job.Slots(ctx, time.Minute)
//	...
//	for slot := range slots {
//		err := job.Run(ctx, slot, func(ctx context.Context, lease *quorum.Lease) error {
//			return report(ctx, slot)
//		})
//		if err != nil && !errors.Is(err, once.ErrDone) {
//			log.Print(err)
//		}
//	}
//
// An ordinary lock isn't enough for that: a short job would be over, and its lock free again,
// before the other processes ask for it.
//
// # What is promised
//
// At most one process begins the job of a slot, however late, slow or restarted processes are, if
// the assumptions of package quorum hold, clocks differ by less than Config.Skew, and a quorum of
// servers stays up from the slot's time until the last process has asked for the slot. Until then
// the servers and the quorum may not be changed either. The lock's key is name@slot. The
// argument:
//
//   - A process takes the lock, and then makes its keys stay on a quorum of servers for longer
//     than any Window (Lease.Keep). Only then does it begin the job. The keys aren't deleted
//     after the job (Lease.Leave), and a crash leaves them, too.
//   - A process begins a job only within Config.Window after the slot's time, by its own clock.
//     It checks the time again when it has the lock, because it may have been paused in between.
//   - A process that finds such keys on any server doesn't begin the job. That holds with any Window, so
//     processes may have different ones, also while a Window is made longer or shorter. If no
//     quorum can have the keys, because the other process was cut off halfway, no process has
//     begun the job. Then the process tries again until the window is over; the other process
//     deletes its keys when it can.
//   - Keys live longer than any lease, so a quarantine doesn't cover their loss. A server that came up
//     since the slot's time may have lost them, and so isn't counted: a quorum of servers that have
//     been up since then must grant the lock. A server that doesn't say how long it has been up
//     isn't counted either: it hides its run, can keep no mark (wire.Identity.Hidden), or isn't
//     asked because RestartQuarantine is Off. If the other servers are no quorum, such servers
//     are treated as if they had been restarted.
//
// # What a restart costs
//
// A restart of servers costs nothing while a quorum of the others can be reached. Otherwise
// processes wait for the others, up to the end of the window.
//
// If so many servers came up since the slot's time that there is no quorum of others (2 of 3, 3 of 5), as
// after a power cut, after restarts one by one within a window, or on new servers, the slot isn't lost: when the quarantine is over (MaxTTL), a process
// that finds no keys on any server begins the job. So these servers must keep their data over the restart.
// If they lost it, and no server that can be reached has the keys, a job that was begun before the restart
// is begun again. Such a job can't be told from one that was never begun.
//
// # What is not promised
//
//   - At least once. If a process crashes during the job, or crashes or is cut off just before
//     it, no process repeats the job. If no quorum of servers can be reached within the window,
//     no process runs the job.
//   - Exactly once. Only the resource that the job changes can ensure that: give each change the
//     slot as an ID, and have the resource make it once (docs/fencing.md). Then the job can also
//     be repeated where it must be done at least once.
//   - That the job of one slot has ended when the next begins. Keys differ from slot to slot, so
//     the next slot's job may run beside it, in another process. Bound the job by Config.MaxLife,
//     or take a lock in it that all slots share (Coordinator.Do).
//
// The order of fencing tokens is promised within a slot, and not from slot to slot, because each
// slot has a key of its own. The key stays on the servers for the sum of MaxWindow, MaxSkew,
// MaxTTL and the drift allowance, about 25.5 h. The counter stays for a day, or up to half a day
// longer. That is about 600 bytes for a slot: a job each minute takes 1 MB on each server, and
// one each second 70 MB.
package once
