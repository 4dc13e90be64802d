// The worker in which the engine runs. The first message to it may have the compiled engine, and the
// first message from it says that it runs, and has the compiled engine for the next worker. Then it
// answers one request after the other: a message is the engine's request as text, and the reply the
// answer's text.
import "./wasm_exec.js";
import { load } from "./load.js";

async function start(compiled) {
  const go = new Go();
  // Compiling begins with the first bytes.
  const module = compiled ?? (await WebAssembly.compileStreaming(load("engine.wasm.gz")));
  go.run(await WebAssembly.instantiate(module, go.importObject)); // it ends only with a fatal error, and then a call has no answer
  self.onmessage = (message) => {
    const answer = self.redlock(message.data);
    if (typeof answer !== "string") throw new Error("a fatal error; the browser's console has it");
    self.postMessage({ answer });
  };
  self.postMessage({ ready: module });
}

self.onmessage = (message) => start(message.data).catch((error) => self.postMessage({ failed: String(error) }));
