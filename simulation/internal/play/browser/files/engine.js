// The engine as the page sees it. Only the newest run counts: a newer one takes the place of one
// that waits, and ends one that takes long, together with its worker.

// Superseded is the reason why a run has no answer: there is a newer one.
export class Superseded extends Error {}

const patience = 1000; // ms that a run may take while a newer one waits

export class Engine {
  #worker = null;
  #ready = false;
  #busy = null; // the request at the worker
  #next = null;
  #timer = 0;

  // ask resolves to the answer to a request. It rejects with Superseded if a newer one came.
  ask(request) {
    return new Promise((resolve, reject) => {
      this.#next?.reject(new Superseded());
      this.#next = { request: JSON.stringify(request), resolve, reject };
      if (this.#busy && !this.#timer) {
        this.#timer = setTimeout(() => this.#restart(new Superseded()), patience);
      }
      this.#send();
    });
  }

  #send() {
    if (!this.#worker) this.#start();
    if (!this.#ready || this.#busy || !this.#next) return;
    [this.#busy, this.#next] = [this.#next, null];
    this.#worker.postMessage(this.#busy.request);
  }

  #start() {
    const worker = new Worker(new URL("worker.js", import.meta.url));
    worker.onmessage = ({ data }) => this.#receive(data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.#fail(new Error(`The run has ended the engine: ${event.message}`));
    };
    this.#worker = worker;
  }

  #receive(data) {
    if (data.failed) {
      this.#fail(new Error(`The engine can't be loaded: ${data.failed}`));
      return;
    }
    if (data.ready) this.#ready = true;
    const done = this.#busy;
    if (done && data.answer !== undefined) {
      this.#busy = null;
      clearTimeout(this.#timer);
      this.#timer = 0;
      const answer = JSON.parse(data.answer);
      if (this.#next) done.reject(new Superseded());
      else if (answer.error) done.reject(new Error(answer.error));
      else done.resolve(answer);
    }
    this.#send();
  }

  // fail ends the worker and the request that it has or that waits for it.
  #fail(error) {
    const waiting = this.#busy ? null : this.#next;
    if (waiting) this.#next = null;
    waiting?.reject(error);
    this.#restart(error);
  }

  // restart ends the worker. The next request, if there is one, starts another.
  #restart(reason) {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#worker.terminate();
    const ended = this.#busy;
    [this.#worker, this.#ready, this.#busy] = [null, false, null];
    ended?.reject(reason);
    if (this.#next) this.#send();
  }
}
