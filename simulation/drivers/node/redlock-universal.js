// The npm package redlock-universal, as its README shows it, on ioredis: by using(), which extends
// the lease. Its README says of LockAcquisitionError: "Lock is held by another process".
import { createRedlock, IoredisAdapter, LockAcquisitionError } from "redlock-universal";
import { connect, leased, run, Taken, version } from "./driver.js";

const retryDelay = 200; // the client's default

const hello = {
  name: "redlock-universal",
  version: version("redlock-universal"),
  servers: "many",
  can: ["wait", "tell"],
};

run(hello, async (servers) => {
  const clients = await connect(servers);
  const adapters = clients.map((client) => new IoredisAdapter(client));
  return {
    async acquire({ key, ttl, wait, lost }) {
      const redlock = createRedlock({ adapters, key, ttl, retryAttempts: Math.floor(wait / retryDelay) });
      try {
        return await leased((routine) => redlock.using(routine), lost);
      } catch (err) {
        throw err instanceof LockAcquisitionError ? new Taken(err.message) : err;
      }
    },
  };
});
