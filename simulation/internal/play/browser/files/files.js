// Replay files: a run as a file, and a file as a run.

const largest = 500_000; // bytes; a request to the engine has at most twice as many

// save lets the browser save a text.
export function save(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = document.createElement("a");
  [link.href, link.download] = [address, name];
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000); // not before the browser has read it
}

// textOf reads a file. Its error is a sentence for the reader.
export async function textOf(file) {
  if (file.size > largest) throw new Error(`${file.name} has ${(file.size / 1e6).toFixed(1)} MB; a replay file of this page has at most ${largest / 1e6} MB.`);
  return file.text();
}
