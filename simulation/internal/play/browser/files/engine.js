// The engine as the page sees it: a worker that plays one run after the other. Of the runs that wait, only
// the newest counts.

// Superseded is the error of a run that has no answer because there is a newer run.
export class Superseded extends Error {}

let worker = started(); // it loads the engine while the page loads the rest
let playing = null; // the run at the worker
let waiting = null;

// play resolves to the answer to a request. It rejects with Superseded if a newer one came.
export function play(request) {
  return new Promise((resolve, reject) => {
    waiting?.reject(new Superseded());
    waiting = { request: JSON.stringify(request), resolve, reject };
    send();
  });
}

function started() {
  const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }) => receive(JSON.parse(data));
  worker.onerror = () => receive({ error: "The engine can’t be loaded.", ended: true });
  return worker;
}

function send() {
  if (playing || !waiting) return;
  [playing, waiting] = [waiting, null];
  worker ??= started();
  worker.postMessage(playing.request);
}

function receive(answer) {
  const done = playing;
  playing = null;
  if (answer.ended) {
    worker.terminate();
    worker = null;
  }
  if (waiting) done?.reject(new Superseded());
  else if (answer.error) done?.reject(new Error(answer.error));
  else done?.resolve(answer);
  send();
}
