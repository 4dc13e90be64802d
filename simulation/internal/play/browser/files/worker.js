// The worker in which the engine runs. It answers one request after the other: a message is the
// engine's request as text, and the reply the answer's text. The first message says that it runs.
"use strict";
importScripts("wasm_exec.js");

async function load() {
  const go = new Go();
  const response = await fetch("engine.wasm");
  if (!response.ok) throw new Error(`engine.wasm: ${response.status}`);
  // Not instantiateStreaming: some hosts serve the file with another type.
  const { instance } = await WebAssembly.instantiate(await response.arrayBuffer(), go.importObject);
  go.run(instance); // it ends only with a fatal error, and then a call has no answer
}

load().then(() => {
  self.onmessage = (message) => {
    const answer = self.redlock(message.data);
    if (typeof answer !== "string") throw new Error("a fatal error; the browser's console has it");
    self.postMessage({ answer });
  };
  self.postMessage({ ready: true });
}, (error) => self.postMessage({ failed: String(error) }));
