// The part of a driver of the box that all clients share: it reads requests, see package box, asks
// a lock client and writes its answers.
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import Redis from "ioredis";

// The standard output is for answers.
console.log = console.info = console.debug = console.error;

// Taken is thrown if the client says that another one has the lock.
export class Taken extends Error {}

export function version(module) {
  const file = new URL(`node_modules/${module}/package.json`, import.meta.url);
  return JSON.parse(readFileSync(file)).version.replace(/^v/, "");
}

// connect makes a connection to each server. A connection that fails is made again by ioredis.
export async function connect(servers, options = {}, Client = Redis) {
  const clients = servers.map((address) => {
    const [host, port] = address.split(":");
    return new Client({ host, port: Number(port), lazyConnect: true, ...options });
  });
  await Promise.allSettled(clients.map((client) => client.connect()));
  return clients;
}

// leased makes a lock of a client's using(routine): the routine works until the lock is released.
export function leased(using, lost) {
  return new Promise((resolve, reject) => {
    const ended = using(
      (signal) =>
        new Promise((end) => {
          signal.addEventListener("abort", lost);
          const release = () => (end(), ended);
          resolve({ held: () => !signal.aborted, release });
        }),
    );
    ended.catch(reject);
  });
}

// redlock5 runs the driver of redlock 5, or of a package with the same functions: by using(), which extends the lease,
// or with the argument "manual" by acquire(), extend() and release(). explained turns an error into the one to throw.
export function redlock5(name, module, Redlock, explained = (err) => Promise.reject(err)) {
  const retryDelay = 200; // the client's default
  const manual = process.argv[2] === "manual";
  const hello = {
    name: manual ? `${name}, manual` : name,
    version: version(module),
    servers: "many",
    can: manual ? ["extend", "wait"] : ["wait", "tell"],
  };
  const open = async (servers) => {
    const redlock = new Redlock(await connect(servers));
    redlock.on("error", (err) => console.error(err.message));
    return {
      async acquire({ key, ttl, wait, lost }) {
        const settings = { retryCount: Math.floor(wait / retryDelay) };
        if (!manual) return leased((routine) => redlock.using([key], ttl, settings, routine), lost).catch(explained);
        let lock = await redlock.acquire([key], ttl, settings).catch(explained);
        return {
          left: () => lock.expiration - Date.now(),
          held: () => lock.expiration > Date.now(),
          extend: async (ttl) => (lock = await lock.extend(ttl)),
          release: () => lock.release(),
        };
      },
    };
  };
  return run(hello, open, "manual");
}

// usage ends the program if it has an argument that the driver doesn't know.
function usage(setting) {
  if (process.argv.slice(2).every((arg) => arg === setting)) return;
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".js") && name !== "driver.js");
  console.error(`usage: node CLIENT, one of ${files.join(", ")}; redlock5.js and sesamecare-redlock.js take "manual"`);
  process.exit(2);
}

// run answers the requests on the standard input until it ends. open(servers, ttl) returns a client.
// Its acquire({key, ttl, wait, lost}) returns a lock with held(), release() and perhaps extend(ttl)
// and left(), how many milliseconds of the lease are left, or throws. It tries once if wait is 0. It calls lost()
// when the client tells that the lease is lost. setting is the argument that the program may have.
export async function run(hello, open, setting) {
  usage(setting);
  const leases = new Map(); // by key; those that were released, too
  let client;

  async function answer({ do: what, servers, key, ttl, wait = 0 }) {
    if (what === "hello") return hello;
    if (what === "open") {
      client = await open(servers, ttl);
      return {};
    }
    if (what === "acquire") {
      const lease = { over: false };
      // The box is told when it knows that the lock is held, and not after it gave it back.
      const lost = () => setImmediate(() => lease.over || write({ event: "lost" }));
      const lock = (lease.lock = await client.acquire({ key, ttl, wait, lost }));
      if (leases.has(key)) leases.get(key).over = true;
      leases.set(key, lease);
      return { held: true, left: lock.left && Math.floor(lock.left()) };
    }
    if (!["check", "extend", "release"].includes(what)) return { error: `there is no request "${what}"` };
    const lease = leases.get(key);
    if (!lease) return { why: "it was not acquired" };
    if (what === "extend") {
      await lease.lock.extend(ttl);
      return { held: true };
    }
    if (what === "release") {
      lease.over = true;
      await lease.lock.release();
      return { done: true };
    }
    return lease.over ? { why: "it was released" } : { held: lease.lock.held() };
  }

  for await (const line of createInterface({ input: process.stdin })) {
    let request;
    try {
      request = JSON.parse(line);
    } catch (err) {
      write({ error: `reading a request: ${err.message}` });
      continue;
    }
    try {
      write({ ...(await answer(request)), id: request.id });
    } catch (err) {
      console.error(err);
      write({ id: request.id, why: err instanceof Taken ? "taken" : err.message || String(err) });
    }
  }
  process.exit();
}

function write(answer) {
  process.stdout.write(JSON.stringify(answer) + "\n");
}
