// Package once has at most one process run the job of a slot, on a lock of package quorum. A slot
// is a time at which a job is due in several processes, such as each full minute.
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
// An ordinary lock isn't enough for that: a job that takes a moment would be over, and its lock
// free, before the other processes ask.
//
// # What is promised
//
// At most one process begins the job of a slot, however late, slow or restarted processes are, if
// the assumptions of package quorum hold, the clocks of the processes differ by less than
// Config.Skew, and all have the same Config. The lock's key is name@slot. It is not released after
// the job, but left to expire (Lease.Leave). The argument:
//
//   - A process begins a job only within Config.Window after the slot's time, by its own clock. It
//     looks after it got the lock, too, because it may have been paused before.
//   - So by the clock of the process that got the lock first, nobody begins the job later than
//     Window and Skew after the slot's time. That process asked for the lock after the slot's
//     time, and its keys live longer than Window and Skew. So until then no other process gets
//     the lock.
//   - A crash changes nothing: the keys stay.
//
// # What is not promised
//
//   - At least once. A process that crashes has begun the job, and nobody repeats it. Nor does
//     anybody if no quorum of servers could be reached within the window, or if processes that
//     crashed have left keys on so many servers that none has a quorum.
//   - Exactly once. That is the matter of what the job changes: give each change the slot as an
//     ID, and have the resource do it once (docs/fencing.md). Then the job can also be repeated
//     where it must be done at least once.
//   - That the job of one slot has ended when the next begins. Keys differ from slot to slot, so
//     the next slot's job may run beside it, in another process. Bound the job by Terms.MaxLife,
//     or take a lock in it that all slots share (Coordinator.Do).
//
// The order of fencing tokens is promised within a slot, and not from slot to slot, because each
// slot has a key of its own. Each leaves a counter on the servers for Config.CounterTTL (24 h by
// default) of package quorum.
package once
