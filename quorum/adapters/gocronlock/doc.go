// Package gocronlock runs gocron's jobs in one of several processes. It has gocron v2's two
// interfaces for that, on package quorum.
//
// A Locker takes a lock for each run, so runs are spread over the processes. It is for jobs that are
// due at the same times in all processes: CronJob, DailyJob and the like, or DurationJob with a
// common WithStartAt.
//
//	locker, err := gocronlock.NewLocker(locks, 15*time.Second)
//	...
//	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
//	...
//	_, err = s.NewJob(gocron.CronJob("0 * * * *", false),
//		gocron.NewTask(locker.Task("report", func(ctx context.Context, lease *quorum.Lease) error {
//			return report(ctx, lease.Token())
//		})),
//		gocron.WithName("report"))
//
// An Elector has one process run all jobs, until it ends or fails. It is for all kinds of jobs.
//
//	elector, err := gocronlock.NewElector(locks, "scheduler", election.Config{})
//	...
//	s, err := gocron.NewScheduler(gocron.WithDistributedElector(elector))
//	...
//	err = elector.Run(ctx) // campaigns until ctx ends
//
// # What is promised
//
//   - Locker: at most one process begins a job that is due, if all processes ask for its lock within
//     NewLocker's atLeast of each other, and no two runs of a job overlap. An ordinary lock isn't
//     enough for the first: a job that takes a moment would be over, and its lock free, before the
//     other processes ask.
//   - Elector: one process at a time runs jobs, as package election promises.
//   - The job is told when its lock or its term ends: the context that Task gives it ends.
//   - The job has a fencing token, larger than that of each earlier run of the same job (Locker), or
//     of each earlier leader (Elector). A process that is paused notices too late that its lock has
//     ended; so pass the token to what the job changes.
//
// # What is not promised
//
//   - At least once. A process that crashes has begun the job, and nobody repeats it.
//   - At most once for a process that is paused, between the time at which gocron finds a job due
//     and Lock, for longer than atLeast: gocron doesn't tell a Locker when the job was due. Where
//     that matters have the job's function call Run of package once, with the time at which the job
//     was due; then no Locker is needed.
//   - gocron's own context doesn't end with the lock. Use the one that Task gives.
package gocronlock
