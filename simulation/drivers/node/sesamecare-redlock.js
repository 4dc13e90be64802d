// The npm package @sesamecare-oss/redlock, a derivative of redlock 5, as its README shows it: by
// using(), which extends the lease, or with the argument "manual" by acquire(), extend() and
// release().
import { setTimeout as sleep } from "node:timers/promises";
import { ExecutionError, Redlock, ResourceLockedError } from "@sesamecare-oss/redlock";
import { Taken, connect, leased, run, version } from "./driver.js";

const retryDelay = 200; // the client's default
const manual = process.argv[2] === "manual";

const hello = {
  name: manual ? "@sesamecare-oss/redlock, manual" : "@sesamecare-oss/redlock",
  version: version("@sesamecare-oss/redlock"),
  servers: "many",
  can: manual ? ["extend", "wait"] : ["wait", "tell"],
};

// explained throws Taken if the votes of the last try say that the lock is held, and err otherwise.
async function explained(err) {
  if (!(err instanceof ExecutionError)) throw err;
  // The votes of a try are there when all servers have answered, so perhaps never.
  const votes = await Promise.race([err.attempts.at(-1), sleep(100)]);
  const against = [...(votes?.votesAgainst.values() ?? [])];
  const locked = against.filter((e) => e instanceof ResourceLockedError).length;
  if (locked && against.length - locked < votes.quorumSize) throw new Taken(err.message);
  throw err;
}

run(hello, async (servers) => {
  const redlock = new Redlock(await connect(servers));
  return {
    async acquire({ key, ttl, wait, lost }) {
      const settings = { retryCount: Math.floor(wait / retryDelay) };
      if (!manual) {
        const using = (routine) => redlock.using([key], ttl, settings, routine);
        return leased(using, lost).catch(explained);
      }
      let lock = await redlock.acquire([key], ttl, settings).catch(explained);
      return {
        left: () => lock.expiration - Date.now(),
        held: () => lock.expiration > Date.now(),
        extend: async (ttl) => (lock = await lock.extend(ttl)),
        release: () => lock.release(),
      };
    },
  };
});
