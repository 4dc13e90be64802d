// The faults of a run, as fields that a reader can change.
import { element, options } from "./element.js";

const ms = 1e6;
const longest = 2592000000; // ms: 30 days
const beyondLease = 12e9; // ns
const resource = "resource";
const named = (names) => names.map((name) => [name, name]);

const operations = [["", "any"], ...named(["acquire", "extend", "release", "read", "write"])];
const choices = {
  way: ["messages", [["", "both ways"], ["request", "requests"], ["reply", "replies"]]],
  keep: ["keeps", [["", "nothing"], ["second", "all but the last second"], ["all", "all"]]],
};

// numbers are the labels of a kind's fields, their units, and their least and largest values.
const numbers = (kind) => ({
  for_ns: ["for, ms", ms, 0, longest],
  by_ns: ["by, ms", ms, kind.signed ? -longest : 0, longest],
  ppm: [kind.signed ? "fast by, %" : "share, %", 1e4, kind.signed ? -kind.most_ppm / 1e4 : 0, kind.most_ppm / 1e4],
  replica: ["replica", 1, 0, 5],
});

// faultRow shows the i-th fault of a run. change takes the fault that it becomes, or undefined if the reader
// removes it.
export function faultRow(run, i, kinds, change) {
  const fault = run.schedule[i];
  const kind = kinds.find((k) => k.kind === fault.kind);
  const set = (fields) => {
    const changed = { ...fault, ...fields };
    for (const name of Object.keys(fields)) if (!changed[name]) delete changed[name];
    change(changed);
  };
  const select = (label, name, list, value, onchange) => {
    const known = list.some(([v]) => v === value) ? list : [...list, [value, value]];
    return element("label", {}, label, element("select", { name: `${name}-${i}`, onchange: ({ target }) => onchange(target.value) }, ...options(known, value)));
  };
  const choice = (label, name, list) => select(label, name, list, fault[name] ?? "", (value) => set({ [name]: value }));
  const number = (label, name, unit, min, max) => element("label", {}, label,
    element("input", { type: "number", step: "any", name: `${name}-${i}`, value: (fault[name] ?? 0) / unit, min, max,
      onchange: ({ target }) => target.reportValidity() && set({ [name]: Math.round(target.valueAsNumber * unit) }) }));

  const all = { process: "every client", server: "every server" };
  const processes = run.processes.filter((name) => name !== "witness");
  const hit = ["process", "server"].filter((name) => fault[name]).map((name) => (fault[name] === "*" ? all[name] : fault[name]));
  const row = element("li", {}, element("strong", {}, `${hit.join(" – ")} ${kind.title}`));
  if (run.idle.includes(i)) row.append(element("em", {}, "This fault had no effect: without it the clients see the same."));
  row.append(select("kind", "kind", named(kinds.map((k) => k.kind)), fault.kind, (name) => change(ofKind(kinds.find((k) => k.kind === name), run, fault))));
  if (kind.where === "either") {
    row.append(select("client or server", "who", named([...processes, ...run.servers]), fault.process || fault.server,
      (name) => set(run.servers.includes(name) ? { server: name, process: "" } : { process: name, server: "" })));
  } else {
    if (kind.where !== "server") row.append(choice("client", "process", [["*", all.process], ...named(processes)]));
    if (kind.where !== "process") row.append(choice("server", "server", [["*", all.server], ...named([...run.servers, ...(kind.resource ? [resource] : [])])]));
  }
  if (kind.uses.includes("nth")) row.append(number("n-th operation (0: at a time)", "nth", 1, 0, 1000));
  if (fault.nth) row.append(choice("operation", "op", operations));
  row.append(number(fault.nth ? "not before, ms" : "at, ms", "at_ns", ms, 0, longest));
  for (const name of kind.uses) {
    if (name in choices) row.append(choice(choices[name][0], name, choices[name][1]));
    const limits = numbers(kind)[name];
    if (limits) row.append(number(limits[0], name, ...limits.slice(1)));
  }
  if (kind.uses.includes("frozen")) {
    row.append(element("label", { class: "check" },
      element("input", { type: "checkbox", name: `frozen-${i}`, checked: Boolean(fault.frozen), onchange: ({ target }) => set({ frozen: target.checked }) }), "the wall clock stops, too"));
  }
  row.append(element("button", { type: "button", name: `remove-${i}`, onclick: () => change(), "aria-label": `Remove fault ${i + 1}, ${fault.kind}` }, "Remove"));
  return row;
}

// ofKind is a fault of a kind at the moment of another fault, or when a client has the lock. It hits the
// same client or server, if its kind can.
export function ofKind(kind, run, { at_ns, nth, op, process, server }) {
  const fault = { ...kind.example, at_ns: at_ns ?? run.begin };
  if (nth && kind.uses.includes("nth")) {
    Object.assign(fault, { at_ns, nth, op });
    if (kind.where === "link") { // of one request, long enough that the next holder comes before it
      Object.assign(fault, { for_ns: undefined, ppm: undefined, by_ns: fault.by_ns && beyondLease });
      if (op === "write") server = resource;
    }
  }
  const onServer = server && server !== resource && !(process && kind.where === "either");
  if (kind.where === "process" || kind.where === "link" || (kind.where === "either" && !onServer)) fault.process = process || run.processes[0];
  if (kind.where === "server" || kind.where === "link" || (kind.where === "either" && onServer)) fault.server = onServer || (server && kind.resource) ? server : run.servers[0];
  return fault;
}
