// The worker in which the engine runs. A message is the text of a request, and its reply the text of the
// answer. If the engine can't be loaded, or a run has ended it, the answer says ended.
import "./wasm_exec.js";

// start loads the engine, which is compressed with gzip. Compiling begins with the first bytes.
async function start() {
  const response = await fetch("engine.wasm.gz");
  if (!response.ok) throw new Error(`engine.wasm.gz: ${response.status}`);
  const [start, whole] = response.body.tee();
  const reader = start.getReader();
  const { value } = await reader.read();
  reader.cancel();
  // If the server has named the encoding, the browser has decompressed the file.
  const content = value?.[0] === 0x1f ? whole.pipeThrough(new DecompressionStream("gzip")) : whole;
  const go = new Go();
  const program = new Response(content, { headers: { "Content-Type": "application/wasm" } });
  const { instance } = await WebAssembly.instantiateStreaming(program, go.importObject);
  go.run(instance); // it ends only with a fatal error; then a call has no answer
}

const started = start();
started.catch(() => {}); // each request says it

self.onmessage = async ({ data }) => {
  let answer;
  let reason = "a fatal error; the browser's console has it";
  try {
    await started;
    answer = self.redlock(data);
  } catch (error) {
    reason = error;
  }
  self.postMessage(answer ?? JSON.stringify({ error: `The engine can’t play this: ${reason}`, ended: true }));
};
