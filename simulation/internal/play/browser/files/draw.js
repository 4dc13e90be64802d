// Draws a run's picture.
import { Axis } from "./axis.js";
import { clock, length as duration, shape } from "./words.js";

const gutter = 92;
const top = 46;
const bar = 20;
const never = -1;
const watching = ["probe", "tick", "time", "ping"];

// Drawing is one picture as SVG. Its cursor marks a moment. Screen readers get only the faults, because
// the page lists the events in words.
export class Drawing {
  #picture;
  #axis;
  #lanes = new Map(); // each lane's line, and the rows of its keys
  #series = new Map(); // each process's number
  #cursor;
  #handles = shape("g");
  #names = shape("g");

  // With the axis of another drawing, every moment stays where it was.
  constructor(picture, label, schedule, axis = new Axis(picture.axis)) {
    this.#picture = picture;
    this.#axis = axis;
    let y = top;
    for (const lane of picture.lanes) {
      if (lane.kind === "process") this.#series.set(lane.name, this.#series.size % 6);
      const rows = new Map(lane.keys.map((key, i) => [key, y + 36 + 2 * bar * i]));
      const height = lane.kind === "process" ? 44 + 2 * bar * lane.keys.length : 40;
      this.#lanes.set(lane.name, { y, line: y + 20, height, rows, kind: lane.kind });
      y += height;
    }
    const last = axis.parts.at(-1);
    const width = gutter + Math.max(last.x + last.width, 200) + 40;
    this.bottom = y;
    this.#cursor = shape("line", { class: "cursor", y1: top - 8, y2: y });
    this.svg = shape("svg", { role: "group", "aria-label": label, width, height: y + 8, viewBox: `0 0 ${width} ${y + 8}` });
    this.svg.append(shape("g", { "aria-hidden": "true" }, this.#pattern(), ...this.#ground(width), ...this.#overlaps(), ...this.#messages(), ...this.#spans(),
      ...this.#beliefs(), ...this.#keys(), ...this.#marks(), ...this.#accesses(), ...this.#violations(), this.#cursor), this.#handles, this.#names);
    this.#names.setAttribute("aria-hidden", "true");
    this.#nameLanes();
    this.grips(schedule);
  }

  get axis() {
    return this.#axis;
  }

  // scrolled keeps the lanes' names in sight.
  scrolled(left) {
    this.#names.setAttribute("transform", `translate(${left})`);
  }

  #nameLanes() {
    this.#names.append(shape("rect", { class: "names", y: top - 8, width: gutter - 16, height: this.bottom - top + 8 }));
    for (const [name, lane] of this.#lanes) {
      this.#names.append(shape("text", { class: `name ${this.#class(name)}`, x: 10, y: lane.line + 5 }, name));
      for (const y of lane.rows.values()) {
        this.#names.append(shape("text", { class: "small", x: 10, y: y + 13 }, "believes"), shape("text", { class: "small", x: 10, y: y + bar + 13 }, "true on"));
      }
    }
  }

  // begins is when a fault happens, undefined if it waits for an operation that never came.
  begins(fault) {
    if (!fault.nth) return fault.at_ns ?? 0;
    return this.#picture.spans.find((s) => s.kind === fault.kind && s.lane === this.#laneOf(fault) && s.from >= (fault.at_ns ?? 0))?.from;
  }

  // at is the moment at an x position.
  at(x) {
    return this.#axis.at(x - gutter);
  }

  // later is the moment some pixels later, rounded to 10 µs.
  later(moment, pixels) {
    return Math.max(0, Math.round(this.at(this.#x(moment) + pixels) / 1e4) * 1e4);
  }

  // laneAt is the name of the lane at a height.
  laneAt(y) {
    return [...this.#lanes].find(([, lane]) => y >= lane.y && y < lane.y + lane.height)?.[0];
  }

  // laneOf is the lane of a fault. For a fault of a link it is the server's lane, so that faults of
  // different servers don't overlap.
  #laneOf(fault) {
    const known = [fault.server, fault.process].find((name) => this.#lanes.has(name));
    const kind = fault.server ? "server" : "process";
    return known ?? this.#picture.lanes.find((l) => l.kind === kind)?.name;
  }

  // grips draws the faults, to be moved, stretched and removed. A fault that has the focus keeps it.
  grips(schedule) {
    const focus = this.#handles.contains(document.activeElement) ? document.activeElement.dataset.fault : undefined;
    this.#handles.replaceChildren(...schedule.flatMap((fault, i) => {
      const [from, lane] = [this.begins(fault), this.#lanes.get(this.#laneOf(fault))];
      if (from === undefined || !lane) return [];
      const length = fault.for_ns ?? 0;
      const x = this.#x(from) - (length ? 0 : 7);
      const width = Math.max(14, this.#x(from + length) - x);
      const who = [fault.process, fault.server].filter(Boolean).join(" and ");
      const keys = `${fault.nth ? "" : "Arrow keys move it. "}${length ? "Shift and arrow keys stretch it. " : ""}Delete removes it.`;
      const words = `Fault ${i + 1}: ${fault.kind} of ${who} at ${clock(from)}${length ? `, for ${duration(length)}` : ""}. ${keys}`;
      const handle = shape("g", { class: fault.nth ? "handle fixed" : "handle", tabindex: 0, role: "button", "aria-label": words, "data-fault": i },
        shape("title", {}, words), shape("rect", { class: "grip", x, y: lane.line - 13, width, height: 26, rx: 3 }));
      if (length) handle.append(shape("rect", { class: "grip-end", x: x + width - 5, y: lane.line - 13, width: 10, height: 26, rx: 3 }));
      return [handle];
    }));
    if (focus !== undefined) this.#handles.querySelector(`[data-fault="${focus}"]`)?.focus({ preventScroll: true });
  }

  // show moves the cursor to a moment, and returns its x position.
  show(at) {
    const x = this.#x(at);
    this.#cursor.setAttribute("x1", x);
    this.#cursor.setAttribute("x2", x);
    return x;
  }

  // x is where a moment is drawn.
  #x(at) {
    return gutter + this.#axis.x(at);
  }

  #shows(from, until) {
    return this.#axis.shows(from, until);
  }

  #class(process) {
    return this.#series.has(process) ? `p${this.#series.get(process)}` : "other";
  }

  #pattern() {
    return shape("defs", {}, shape("pattern", { id: "hatch", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      shape("rect", { class: "hatch-ground", width: 7, height: 7 }), shape("line", { class: "hatch-line", y2: 7 })));
  }

  #ground(width) {
    const out = [];
    let n = 0;
    for (const [name, lane] of this.#lanes) {
      if (n++ % 2 === 0) out.push(shape("rect", { class: "lane", y: lane.y, width, height: lane.height }));
      out.push(shape("line", { class: "line", x1: gutter - 6, x2: width - 20, y1: lane.line, y2: lane.line }));
    }
    const axis = this.#axis.parts;
    axis.forEach((part, i) => {
      const x = gutter + part.x;
      out.push(shape("text", { class: "small", x, y: 16 }, clock(part.from)), shape("line", { class: "grid", x1: x, x2: x, y1: 20, y2: this.bottom }));
      if (i > 0) {
        const last = axis[i - 1];
        const left = gutter + last.x + last.width;
        out.push(shape("rect", { class: "quiet", x: left, y: 22, width: Math.max(0, x - left), height: this.bottom - 22 },
          shape("title", {}, `${duration(part.from - last.until)} quiet`)));
        out.push(shape("text", { class: "small middle", x: (left + x) / 2, y: 34 }, duration(part.from - last.until)));
      }
    });
    return out;
  }

  // bar is a box for a period, with a text if it fits.
  #bar(from, until, y, kind, title, ...texts) {
    if (!this.#shows(from, until)) return [];
    const x = this.#x(from);
    const width = Math.max(2, this.#x(until) - x);
    const text = texts.find((text) => text.length * 6.8 + 8 < width);
    const out = [shape("rect", { class: `bar ${kind}`, x, y, width, height: bar - 3 }, shape("title", {}, title))];
    if (text) out.push(shape("text", { class: "small inside", x: x + 4, y: y + 13 }, text));
    return out;
  }

  #token(token) {
    return this.#picture.tokens.find((t) => t.token === token)?.name ?? "";
  }

  #beliefs() {
    const out = [];
    const row = (process, key) => this.#lanes.get(process)?.rows.get(key);
    for (const b of this.#picture.beliefs) {
      const token = this.#token(b.token);
      const words = `believes that it holds ${b.key}${token && `, token ${token}`}`;
      out.push(...this.#bar(b.from, b.until, row(b.process, b.key), `believed ${this.#class(b.process)}`,
        `${b.process} ${words}, ${clock(b.from)} to ${clock(b.until)}`, words, `holds ${b.key} ${token}`, "holds"));
    }
    for (const t of this.#picture.truth) {
      const names = t.servers.join(" ");
      const y = row(t.process, t.key);
      if (y === undefined) continue;
      out.push(...this.#bar(t.from, t.until, y + bar, `${t.quorum ? "true" : "minority"} ${this.#class(t.process)}`,
        `${t.process}'s key is on ${names}${t.quorum ? "" : ", no quorum"}, ${clock(t.from)} to ${clock(t.until)}`,
        t.quorum ? names : `only ${names}: no quorum`, names));
    }
    for (const m of this.#picture.mistaken) {
      const y = row(m.who.split(".")[0], m.key);
      if (y !== undefined) out.push(...this.#bar(m.from, m.until, y + bar, "wrong", `${m.who} believes that it holds ${m.key}, but its key isn't on a quorum, ${clock(m.from)} to ${clock(m.until)}`));
    }
    return out;
  }

  #keys() {
    return this.#picture.keys.flatMap((k) => {
      const lane = this.#lanes.get(k.server);
      return lane ? this.#bar(k.from, k.until, lane.line - 9, `true ${this.#class(k.process)}`,
        `${k.server} has ${k.process}'s ${k.key}, ${clock(k.from)} to ${clock(k.until)}: ${k.open ? "still there at the end" : k.end}`, `${k.process} has ${k.key}`, k.process) : [];
    });
  }

  #messages() {
    const out = [];
    for (const m of this.#picture.messages) {
      const from = this.#lanes.get(m.process);
      const to = this.#lanes.get(m.place);
      if (!from || !to || watching.includes(m.op) || m.sent === never || !this.#shows(m.sent)) continue;
      const sent = this.#x(m.sent);
      const wires = shape("g", { class: `wire ${this.#class(m.process)}` }, shape("title", {}, `${m.process} ${m.op} ${m.place}: ${m.outcome || "lost"}, sent ${clock(m.sent)}`));
      const wire = (kind, x1, y1, x2, y2) => wires.append(shape("line", { class: kind, x1, y1, x2, y2 }));
      if (m.arrived === never) {
        const [x, y] = [sent + 16, from.line + (to.line - from.line) * 0.5];
        wire("request", sent, from.line, x, y);
        wires.append(shape("path", { class: "lost", d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8` }));
      } else {
        const arrived = this.#x(m.arrived);
        wire("request", sent, from.line, arrived, to.line);
        wires.append(shape("circle", { class: m.outcome === "refused" || m.outcome === "failed" ? "no" : "yes", cx: arrived, cy: to.line, r: 3 }));
        const back = m.received !== never ? m.received : m.missed;
        if (back !== never) wire("reply", arrived, to.line, this.#x(back), from.line);
      }
      out.push(wires);
    }
    return out;
  }

  #spans() {
    const stops = ["pause", "suspend", "reboot", "restart", "hang", "failover", "demote"];
    return this.#picture.spans.flatMap((s) => {
      const lane = this.#lanes.get(s.lane);
      if (!lane || !this.#shows(s.from, s.until)) return [];
      const x = this.#x(s.from);
      const width = Math.max(3, this.#x(s.until) - x);
      const title = shape("title", {}, `${s.lane}${s.place && ` and ${s.place}`}: ${s.kind}${s.words && `, ${s.words}`}, ${clock(s.from)} to ${clock(s.until)}`);
      const halt = stops.includes(s.kind);
      return [shape("rect", { class: halt ? "halt" : "trouble", x, y: lane.line - (halt ? 6 : 15), width, height: halt ? 12 : 3 }, title)];
    });
  }

  #marks() {
    return this.#picture.marks.flatMap((m) => {
      const lane = this.#lanes.get(m.lane);
      if (!lane || !this.#shows(m.at)) return [];
      const x = this.#x(m.at);
      return [shape("path", { class: m.fault ? "mark fault" : "mark", d: m.fault ? `M${x} ${lane.line - 8}l6 8l-6 8l-6 -8z` : `M${x} ${lane.line - 6}v12` },
        shape("title", {}, `${clock(m.at)}: ${m.who} ${m.label}`))];
    });
  }

  #accesses() {
    const lane = this.#lanes.get("resource");
    return this.#picture.accesses.flatMap((a) => {
      if (!lane || !this.#shows(a.at)) return [];
      const x = this.#x(a.at);
      const title = shape("title", {}, `${clock(a.at)}: ${a.process}'s ${a.op}${a.refused ? ", refused by the guard" : ""}`);
      const out = [a.op === "read" ? shape("circle", { class: `access ${this.#class(a.process)}`, cx: x, cy: lane.line, r: 5 }, title)
        : shape("rect", { class: `access write ${this.#class(a.process)}`, x: x - 5, y: lane.line - 5, width: 10, height: 10 }, title)];
      if (a.refused) out.push(shape("path", { class: "lost", d: `M${x - 6} ${lane.line - 6}l12 12m0 -12l-12 12` }));
      return out;
    });
  }

  #overlaps() {
    return this.#picture.overlaps.flatMap((o) => {
      const [a, b] = [o.first, o.second].map((who) => this.#lanes.get(who.split(".")[0])).sort((a, b) => a.y - b.y);
      if (!this.#shows(o.from, o.until)) return [];
      const x = this.#x(o.from);
      return [shape("rect", { class: "both", x, y: a.y, width: Math.max(1, this.#x(o.until) - x), height: b.y + b.height - a.y },
        shape("title", {}, `${o.first} and ${o.second} both believe that they hold ${o.key}`))];
    });
  }

  #violations() {
    let free = -Infinity; // names must not overlap; the list below the timeline has all of them
    return this.#picture.violations.flatMap((v) => {
      if (!this.#shows(v.at)) return [];
      const x = this.#x(v.at);
      const out = [shape("line", { class: "violation", x1: x, x2: x, y1: top - 2, y2: this.bottom }, shape("title", {}, `${v.kind}: ${v.text}`))];
      if (x > free) {
        out.push(shape("text", { class: "violation-name", x: x + 3, y: top - 2 }, v.kind.toUpperCase()));
        free = x + v.kind.length * 9;
      }
      return out;
    });
  }
}
