// load loads a file that is compressed with gzip, and returns a response with the content. Few servers
// compress such large files on their own. This way the download is small from every server.
export async function load(name) {
  const response = await fetch(name);
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  const [start, whole] = response.body.tee();
  const reader = start.getReader();
  const { value } = await reader.read();
  reader.cancel();
  // If the server has named the encoding, the browser has decompressed the file.
  const content = value?.[0] === 0x1f ? whole.pipeThrough(new DecompressionStream("gzip")) : whole;
  return new Response(content, { headers: { "Content-Type": name.includes(".wasm") ? "application/wasm" : "application/json" } });
}
