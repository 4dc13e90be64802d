// The npm package redlock 4.2, as its README shows it, on ioredis.
import Redlock from "redlock4";
import { connect, run, version } from "./driver.js";

const retryDelay = 200; // the client's default

run({ name: "redlock (npm) 4", version: version("redlock4"), servers: "many", can: ["extend", "wait"] }, async (servers) => {
  const clients = await connect(servers);
  return {
    async acquire({ key, ttl, wait }) {
      const redlock = new Redlock(clients, { retryCount: Math.floor(wait / retryDelay) });
      redlock.on("clientError", (err) => console.error(err.message));
      const lock = await redlock.lock(key, ttl);
      return {
        left: () => lock.expiration - Date.now(),
        held: () => lock.expiration > Date.now(),
        extend: (ttl) => lock.extend(ttl),
        release: () => lock.unlock(),
      };
    },
  };
});
