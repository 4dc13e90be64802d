// The npm package @sesamecare-oss/redlock, a derivative of redlock 5, as its README shows it.
import { setTimeout as sleep } from "node:timers/promises";
import { ExecutionError, Redlock, ResourceLockedError } from "@sesamecare-oss/redlock";
import { redlock5, Taken } from "./driver.js";

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

redlock5("@sesamecare-oss/redlock", "@sesamecare-oss/redlock", Redlock, explained);
