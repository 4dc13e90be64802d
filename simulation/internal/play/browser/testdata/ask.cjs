// Asks the engine of a page: node ask.cjs FOLDER. Requests are lines of the standard input, and
// answers lines of the standard output.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");
const zlib = require("node:zlib");

const folder = process.argv[2];
const exec = path.join(folder, "wasm_exec.js");
const engine = zlib.gunzipSync(fs.readFileSync(path.join(folder, "engine.wasm.gz")));
vm.runInThisContext(fs.readFileSync(exec, "utf8"), { filename: exec });
const go = new globalThis.Go();
WebAssembly.instantiate(engine, go.importObject).then(({ instance }) => {
  go.run(instance).then(() => process.exit(3), () => process.exit(3)); // it must not end
  for (const request of fs.readFileSync(0, "utf8").split("\n").filter(Boolean)) {
    fs.writeSync(1, globalThis.redlock(request) + "\n");
  }
  process.exit(0);
}, (error) => {
  console.error(error);
  process.exit(1);
});
