// The challenge: a separate worker plays random faults until a run breaks the lock, and shrinks them.
// Each request is for a few runs, so that the page can count them and end the search.
import { Engine, Superseded } from "./engine.js";

const runs = 5; // of a request

export class Challenge {
  #engine = null;
  #lock = "";

  get running() {
    return this.#engine !== null;
  }

  // search looks for a schedule that breaks a lock, beginning with a seed. It returns the run and the
  // number of runs that it took, or null if stop was called. It tells counted the number of runs so far.
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

  // shrink makes the schedule of a run smaller. It returns null if stop was called. The worker ends.
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

  // about ends a search in another scenario or for another lock.
  about({ base, design }) {
    if (this.running && this.#lock !== `${base} ${design}`) this.stop();
  }

  // stop ends the worker, whatever it is doing.
  stop() {
    this.#engine?.stop();
    this.#engine = null;
  }
}
