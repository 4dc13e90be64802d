// What the page puts on a run's drawing, which the engine makes: the cursor, the faults to be moved,
// and the lanes' names, which stay in sight.
import { clock, length as duration, parsed, shape } from "./words.js";

const beyond = 1e7; // ns of a pixel after the end

// Drawing is a drawing with these. Screen readers get only the faults, because the page lists the events
// in words.
export class Drawing {
  #picture;
  #cursor;
  #handles = shape("g");
  #names;

  constructor(picture, label, schedule) {
    this.#picture = picture;
    const drawn = parsed(picture.svg);
    const { width, height } = drawn.viewBox.baseVal;
    const names = [...drawn.querySelectorAll('text[x="0"]')];
    this.#cursor = shape("line", { class: "cursor", y1: 0, y2: height });
    this.#names = shape("g", { "aria-hidden": "true" }, shape("rect", { class: "names", y: picture.lanes[0]?.y, width: picture.axis[0].x - 12, height }), ...names);
    this.svg = shape("svg", { class: "rl", role: "group", "aria-label": label, width, height, viewBox: `0 0 ${width} ${height}` },
      shape("g", { "aria-hidden": "true" }, ...drawn.childNodes, this.#cursor), this.#handles, this.#names);
    this.grips(schedule);
  }

  // scrolled keeps the lanes' names in sight.
  scrolled(left) {
    this.#names.setAttribute("transform", `translate(${left})`);
  }

  // begins is when a fault happens, undefined if it waits for an operation that never came.
  begins(fault) {
    if (!fault.nth) return fault.at_ns ?? 0;
    return this.#picture.spans.find((s) => s.kind === fault.kind && s.lane === this.#laneOf(fault)?.name && s.from >= (fault.at_ns ?? 0))?.from;
  }

  // x is where a moment is drawn, and at is the moment at a place. Both go on beyond the run's end.
  #x(at) {
    return this.#between("at", "x", at, 1 / beyond);
  }

  at(x) {
    return this.#between("x", "at", x, beyond);
  }

  #between(from, to, value, after) {
    const axis = this.#picture.axis;
    const i = axis.findIndex((knot) => knot[from] >= value);
    const last = axis.at(-1);
    if (i < 0) return last[to] + (value - last[from]) * after;
    if (i === 0) return axis[0][to];
    const [a, b] = [axis[i - 1], axis[i]];
    return a[to] + ((value - a[from]) / (b[from] - a[from])) * (b[to] - a[to]);
  }

  // later is the moment some pixels later, rounded to 10 µs.
  later(moment, pixels) {
    return Math.max(0, Math.round(this.at(this.#x(moment) + pixels) / 1e4) * 1e4);
  }

  // laneAt is the name of the lane at a height.
  laneAt(y) {
    return this.#picture.lanes.find((lane) => y >= lane.y && y < lane.y + lane.height)?.name;
  }

  // laneOf is the lane of a fault. For a fault of a link it is the server's lane, so that faults of
  // different servers don't overlap.
  #laneOf(fault) {
    const named = (name) => this.#picture.lanes.find((lane) => lane.name === name);
    return named(fault.server) ?? named(fault.process) ?? this.#picture.lanes.find((lane) => lane.kind === (fault.server ? "server" : "process"));
  }

  // grips draws the faults, to be moved, stretched and removed. A fault that has the focus keeps it.
  grips(schedule) {
    const focus = this.#handles.contains(document.activeElement) ? document.activeElement.dataset.fault : undefined;
    this.#handles.replaceChildren(...schedule.flatMap((fault, i) => {
      const [from, lane] = [this.begins(fault), this.#laneOf(fault)];
      if (from === undefined || !lane) return [];
      const length = fault.for_ns ?? 0;
      const x = this.#x(from) - (length ? 0 : 7);
      const width = Math.max(14, this.#x(from + length) - x);
      const who = [fault.process, fault.server].filter(Boolean).join(" and ");
      const keys = `${fault.nth ? "" : "Arrow keys move it. "}${length ? "Shift and arrow keys stretch it. " : ""}Delete removes it.`;
      const words = `Fault ${i + 1}: ${fault.kind} of ${who} at ${clock(from)}${length ? `, for ${duration(length)}` : ""}. ${keys}`;
      const handle = shape("g", { class: fault.nth ? "handle fixed" : "handle", tabindex: 0, role: "button", "aria-label": words, "data-fault": i },
        shape("title", {}, words), shape("rect", { class: "grip", x, y: lane.line - 12, width, height: 24, rx: 3 }));
      if (length) handle.append(shape("rect", { class: "grip-end", x: x + width - 5, y: lane.line - 12, width: 10, height: 24, rx: 3 }));
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
}
