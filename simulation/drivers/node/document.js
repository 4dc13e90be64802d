// The algorithm of the Redis document by hand, on ioredis:
// https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/
import { randomBytes } from "node:crypto";
import { connect, run, Taken, version } from "./driver.js";

const unlock = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`;
const renew = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end`;

const hello = { name: "Redis document, Node", version: version("ioredis"), servers: "many", can: ["extend"] };

run(hello, async (servers) => {
  const clients = await connect(servers, { commandTimeout: 50 });
  const quorum = Math.floor(clients.length / 2) + 1;

  // ask sends a command to all servers and counts how many did it, and how many answered that they
  // did not.
  async function ask(command, yes) {
    const replies = await Promise.allSettled(clients.map(command));
    const answers = replies.filter((reply) => reply.status === "fulfilled");
    const done = answers.filter((answer) => answer.value === yes).length;
    return { done, refused: answers.length - done, text: `${done} of ${replies.length} did it` };
  }

  return {
    async acquire({ key, ttl }) {
      const value = randomBytes(20).toString("hex");
      const deadline = (ttl) => performance.now() + ttl - (ttl * 0.01 + 2); // less the clocks' drift
      const release = () => ask((client) => client.eval(unlock, 1, key, value), 1);

      let until = deadline(ttl);
      const { done, refused, text } = await ask((client) => client.set(key, value, "PX", ttl, "NX"), "OK");
      if (done < quorum || performance.now() >= until) {
        await release();
        throw refused >= quorum ? new Taken(text) : new Error(text);
      }
      return {
        left: () => until - performance.now(),
        held: () => performance.now() < until,
        async extend(ttl) {
          const later = deadline(ttl);
          const { done, text } = await ask((client) => client.eval(renew, 1, key, value, ttl), 1);
          if (done < quorum || performance.now() >= until) throw new Error(text);
          until = later;
        },
        async release() {
          const { done, text } = await release();
          if (done < quorum) throw new Error(text);
        },
      };
    },
  };
});
