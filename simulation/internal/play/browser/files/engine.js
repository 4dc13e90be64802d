// The engine as the page sees it. Only the newest run counts: it replaces a run that still waits, and
// ends a run that takes long, together with its worker.

import { load } from "./load.js";

// Superseded is the error of a run that has no answer because there is a newer run.
export class Superseded extends Error {}

const patience = 1000; // ms that a run may take while a newer one waits

// The answers to the page's first requests, by the text of the request. They show something before the
// engine is loaded. They may, because an answer depends only on its request. Without them the engine
// answers.
const prepared = await load("prepared.json.gz").then((response) => response.json()).catch(() => ({}));

let compiled = null; // the engine, once a worker has compiled it

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
      const text = JSON.stringify(request);
      this.#next = { request: text, resolve, reject };
      if (!this.#ready && Object.hasOwn(prepared, text)) {
        resolve(prepared[text]);
        // The engine plays it nevertheless: the first run of an engine is the slowest.
        this.#next = { request: text, resolve() {}, reject() {} };
      }
      if (this.#busy && !this.#timer) {
        this.#timer = setTimeout(() => this.#restart(new Superseded()), patience);
      }
      this.#send();
    });
  }

  // stop ends the worker, and its request is superseded.
  stop() {
    this.#next?.reject(new Superseded());
    this.#next = null;
    if (this.#worker) this.#restart(new Superseded());
  }

  #send() {
    if (!this.#worker) this.#start();
    if (!this.#ready || this.#busy || !this.#next) return;
    [this.#busy, this.#next] = [this.#next, null];
    this.#worker.postMessage(this.#busy.request);
  }

  #start() {
    const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    // A worker that was ended may still have sent a message.
    worker.onmessage = ({ data }) => this.#worker === worker && this.#receive(data);
    worker.onerror = (event) => {
      event.preventDefault();
      if (this.#worker === worker) this.#fail(new Error(`The engine stopped during this run: ${event.message}`));
    };
    worker.postMessage(compiled);
    this.#worker = worker;
  }

  #receive(data) {
    if (data.failed) {
      this.#fail(new Error(`The engine can't be loaded: ${data.failed}`));
      return;
    }
    if (data.ready) [this.#ready, compiled] = [true, data.ready];
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

  // fail ends the worker, and rejects the request that it has or that waits for it.
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
