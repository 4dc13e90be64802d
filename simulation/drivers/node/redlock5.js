// The npm package redlock 5 beta, as its README shows it: by using(), which extends the lease, or
// with the argument "manual" by acquire(), extend() and release().
import Redlock from "redlock5";
import { connect, leased, run, version } from "./driver.js";

const retryDelay = 200; // the client's default
const manual = process.argv[2] === "manual";

const hello = {
  name: manual ? "redlock (npm) 5 beta, manual" : "redlock (npm) 5 beta",
  version: version("redlock5"),
  servers: "many",
  can: manual ? ["extend", "wait"] : ["wait", "tell"],
};

run(hello, async (servers) => {
  const redlock = new Redlock(await connect(servers));
  redlock.on("error", (err) => console.error(err.message));
  return {
    async acquire({ key, ttl, wait, lost }) {
      const settings = { retryCount: Math.floor(wait / retryDelay) };
      if (!manual) return leased((routine) => redlock.using([key], ttl, settings, routine), lost);
      let lock = await redlock.acquire([key], ttl, settings);
      return {
        left: () => lock.expiration - Date.now(),
        held: () => lock.expiration > Date.now(),
        extend: async (ttl) => (lock = await lock.extend(ttl)),
        release: () => lock.release(),
      };
    },
  };
});
