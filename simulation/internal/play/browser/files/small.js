// Draws a run small, for a comparison: what the clients believe, what is true on the servers, and
// what breaks.
import { shape } from "./words.js";

const row = 9;
const stops = ["pause", "suspend", "reboot"]; // of clients

// small returns the drawing on the axis of another run, so that equal moments are below each other.
export function small(picture, axis, label) {
  const series = new Map(picture.lanes.filter((l) => l.kind === "process").map((l, i) => [l.name, i]));
  const top = new Map();
  let y = 4;
  for (const lane of picture.lanes) {
    if (lane.kind !== "process" || lane.keys.length === 0) continue;
    for (const key of lane.keys) {
      top.set(`${lane.name} ${key}`, y);
      y += 2 * row + 6;
    }
  }
  const line = y + 6; // the resource's
  const height = line + 12;
  const last = axis.parts.at(-1);
  const width = Math.max(last.x + last.width, 200);
  const box = (from, until, y, kind) => {
    if (y === undefined || !axis.shows(from, until)) return [];
    const x = axis.x(from);
    return [shape("rect", { class: kind, x, y, width: Math.max(2, axis.x(until) - x), height: row - 1 })];
  };
  const kindOf = (process) => (series.has(process) ? `p${series.get(process) % 6}` : "other");
  const rowOf = (who, key) => top.get(`${who.split(".")[0]} ${key}`);
  const under = (y) => (y === undefined ? y : y + row);
  return shape("svg", { role: "img", "aria-label": label, viewBox: `-6 0 ${width + 12} ${height}`, preserveAspectRatio: "none", class: "small" },
    ...picture.spans.filter((s) => stops.includes(s.kind) && axis.shows(s.from, s.until)).flatMap((s) => {
      const first = [...top].find(([name]) => name.startsWith(`${s.lane} `));
      return first ? [shape("rect", { class: "halt", x: axis.x(s.from), y: first[1] - 3, width: Math.max(3, axis.x(s.until) - axis.x(s.from)), height: 3 })] : [];
    }),
    ...picture.beliefs.flatMap((b) => box(b.from, b.until, rowOf(b.process, b.key), `bar believed ${kindOf(b.process)}`)),
    ...picture.truth.flatMap((t) => box(t.from, t.until, under(rowOf(t.process, t.key)), `bar ${t.quorum ? "true" : "minority"} ${kindOf(t.process)}`)),
    ...picture.mistaken.flatMap((m) => box(m.from, m.until, under(rowOf(m.who, m.key)), "wrong")),
    shape("line", { class: "line", x1: 0, x2: width, y1: line, y2: line }),
    ...picture.accesses.filter((a) => axis.shows(a.at)).flatMap((a) => {
      const x = axis.x(a.at);
      const mark = a.refused ? shape("path", { class: "refused", d: `M${x - 7} ${line - 6}l14 12m0 -12l-14 12` })
        : shape("rect", { class: `access ${a.op === "read" ? "" : "write"} ${kindOf(a.process)}`, x: x - 3, y: line - 4, width: 6, height: 8 });
      return [mark];
    }),
    ...picture.violations.filter((v) => axis.shows(v.at)).map((v) => shape("line", { class: "violation", x1: axis.x(v.at), x2: axis.x(v.at), y1: 0, y2: height })));
}
