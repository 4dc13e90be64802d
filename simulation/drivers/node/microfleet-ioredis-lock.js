// The npm package @microfleet/ioredis-lock, as its README shows it. It is for ioredis up to 5.
import { createLock, getAcquiredLocks } from "@microfleet/ioredis-lock";
import Redis5 from "ioredis5";
import { Taken, connect, run, version } from "./driver.js";

const delay = 50; // the client's default

const hello = {
  name: "@microfleet/ioredis-lock",
  version: version("@microfleet/ioredis-lock"),
  servers: "one",
  can: ["extend", "wait"],
};

run(hello, async (servers) => {
  const [client] = await connect(servers, {}, Redis5);
  return {
    async acquire({ key, ttl, wait }) {
      const lock = createLock(client, { timeout: ttl, retries: Math.floor(wait / delay), delay });
      await lock.acquire(key).catch((err) => {
        if (err.message.startsWith("Could not acquire lock")) throw new Taken(err.message);
        throw err;
      });
      return {
        held: () => getAcquiredLocks().includes(lock), // "currently active/acquired locks"
        extend: (ttl) => lock.extend(ttl),
        release: () => lock.release(),
      };
    },
  };
});
