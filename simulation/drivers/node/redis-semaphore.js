// The npm package redis-semaphore, as its README shows it: its RedlockMutex, which extends the
// lease.
import semaphore from "redis-semaphore";
import { connect, run, version } from "./driver.js";

const hello = {
  name: "redis-semaphore",
  version: version("redis-semaphore"),
  servers: "many",
  can: ["wait", "tell"],
};

run(hello, async (servers) => {
  const clients = await connect(servers);
  return {
    async acquire({ key, ttl, wait, lost }) {
      const patience = wait > 0 ? { acquireTimeout: wait } : { acquireAttemptsLimit: 1 };
      const mutex = new semaphore.RedlockMutex(clients, key, { lockTimeout: ttl, onLockLost: lost, ...patience });
      await mutex.acquire();
      return { held: () => mutex.isAcquired, release: () => mutex.release() };
    },
  };
});
