// The challenge: a worker of its own plays random faults until a run breaks the lock, and makes the
// faults fewer. Each request is a few runs, so that they can be counted and the search can end.
import { Engine, Superseded } from "./engine.js";

const runs = 5; // of a request

export class Challenge {
  #engine = null;
  #lock = "";

  get running() {
    return this.#engine !== null;
  }

  // search looks for a schedule that breaks a lock, from a seed on. It returns the run, with the
  // number of runs that it took, or null if stop was called. counted gets the number of runs so far.
  async search({ base, design, kinds, most, seed }, counted) {
    this.stop();
    this.#lock = `${base} ${design}`;
    const engine = (this.#engine = new Engine());
    try {
      let [played, next] = [0, seed];
      for (;;) {
        const answer = await engine.ask({ do: "search", base, design, seed: next, kinds, most, count: runs });
        if (this.#engine !== engine) return null;
        [played, next] = [played + answer.runs, answer.next];
        counted(played);
        if (answer.found) return { seed: answer.seed, schedule: answer.schedule, verdict: answer.verdict, runs: played };
      }
    } catch (error) {
      if (error instanceof Superseded) return null;
      this.stop();
      throw error;
    }
  }

  // shrink makes the schedule of a run smaller, or returns null if stop was called. The worker ends.
  async shrink({ base, design, seed, schedule }) {
    const engine = this.#engine;
    try {
      const small = await engine.ask({ do: "shrink", base, design, seed, schedule });
      return this.#engine === engine ? small : null;
    } catch (error) {
      if (error instanceof Superseded) return null;
      throw error;
    } finally {
      if (this.#engine === engine) this.stop();
    }
  }

  // about ends a search that is about another story or another lock.
  about({ base, design }) {
    if (this.running && this.#lock !== `${base} ${design}`) this.stop();
  }

  // stop ends the worker, whatever it does.
  stop() {
    this.#engine?.stop();
    this.#engine = null;
  }
}
