// The worker in which the engine runs. The first message to it may contain the compiled engine. The
// first message from it says that it runs, and contains the compiled engine for the next worker. Then it
// answers one request after the other. A message is the text of a request, and its reply the text of
// the answer.
import "./wasm_exec.js";
import { load } from "./load.js";

async function start(compiled) {
  const go = new Go();
  // Compiling begins with the first bytes.
  const module = compiled ?? (await WebAssembly.compileStreaming(load("engine.wasm.gz")));
  go.run(await WebAssembly.instantiate(module, go.importObject)); // it ends only with a fatal error; then a call has no answer
  self.onmessage = (message) => {
    const answer = self.redlock(message.data);
    if (typeof answer !== "string") throw new Error("a fatal error; the browser's console has it");
    self.postMessage({ answer });
  };
  self.postMessage({ ready: module });
}

self.onmessage = (message) => start(message.data).catch((error) => self.postMessage({ failed: String(error) }));
