// The faults of a run, as fields that a reader can change. A fault has only the fields that its kind uses.
import { element, options } from "./element.js";

const second = 1e9; // ns
const longest = 2592000; // s: 30 days
const beyondLease = 12e9; // ns
const resource = "resource";
const all = { process: "every client", server: "every server" };
const named = (names) => names.map((name) => [name, name]);

// names are the kinds in plain words.
const names = {
  pause: "client paused", suspend: "machine suspended", crash: "client crashes", step: "clock jump", rate: "clock too fast or slow", cut: "network cut", lose: "lost messages", delay: "late messages",
  reboot: "client restarts", restart: "server restarts", hang: "server hangs", failover: "server fails over", evict: "lost key", flush: "lost data", duplicate: "repeated requests", reorder: "reordered messages",
  lag: "slow replicas", "split-brain": "two masters", switch: "another server",
};
export const kindOptions = (kinds) => kinds.map((k) => [k.kind, names[k.kind] ?? k.kind]);

const operations = [["", "anything"], ...["acquire", "extend", "release", "read", "write"].map((op) => [op, op])];
const choices = {
  way: ["which messages", [["", "both ways"], ["request", "to the server"], ["reply", "from the server"]]],
  keep: ["the server’s disk keeps", [["", "nothing"], ["second", "all but the last second"], ["all", "everything"]]],
};
// by is what a duration is, beside how long the fault lasts.
const by = {
  step: "forward by (minus: back)", delay: "each message is late by", reorder: "each message is late by up to", duplicate: "the second copy comes after",
  failover: "the replica lacks the last", "split-brain": "the replica lacks the last", lag: "late by (0: never arrives, or after the fault)",
};

// numbers are the fields of a kind with their labels, units, and their least and largest values.
const numbers = (kind) => ({
  for_ns: [kind.where === "link" ? "lasts for (0: to the end)" : "lasts for", "s", second, 0, longest],
  by_ns: [by[kind.kind], "s", second, kind.signed ? -longest : 0, longest],
  ppm: [kind.signed ? "too fast by (minus: too slow)" : "share of the messages", "%", 1e4, kind.signed ? -kind.most_ppm / 1e4 : 0, kind.most_ppm / 1e4],
  replica: ["number of the replica", "", 1, 0, 5],
});

// faultRow shows the i-th fault of a run. change takes the fault that it becomes, or undefined if the reader
// removes it.
export function faultRow(run, i, kinds, change) {
  const fault = run.schedule[i];
  const kind = kinds.find((k) => k.kind === fault.kind);
  const onLink = kind.where === "link";
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
  const number = (name, label, unit, size, min, max) => element("label", {}, label, element("span", {},
    element("input", { type: "number", step: "any", name: `${name}-${i}`, value: Number(((fault[name] ?? 0) / size).toFixed(6)), min, max,
      onchange: ({ target }) => target.reportValidity() && set({ [name]: Math.round(target.valueAsNumber * size) }) }), unit && ` ${unit}`));

  const processes = run.processes.filter((name) => name !== "witness");
  const [process, server] = ["process", "server"].map((name) => (fault[name] === "*" ? all[name] : fault[name]));
  const row = element("li", {}, element("strong", {}, `${onLink ? `The connection of ${process} to ${server}` : process || server} ${kind.title}`));
  row.append(select("what happens", "kind", kindOptions(kinds), fault.kind, (name) => change(ofKind(kinds.find((k) => k.kind === name), run, fault))));
  if (kind.where === "either") {
    row.append(select("client or server", "who", named([...processes, ...run.servers]), fault.process || fault.server,
      (name) => set(run.servers.includes(name) ? { server: name, process: "" } : { process: name, server: "" })));
  } else {
    if (kind.where !== "server") row.append(choice("client", "process", [["*", all.process], ...named(processes)]));
    if (kind.where !== "process") row.append(choice("server", "server", [["*", all.server], ...named([...run.servers, ...(kind.resource ? [resource] : [])])]));
  }
  if (kind.uses.includes("nth")) {
    const moments = { time: { at_ns: run.begin, nth: undefined, op: undefined }, nth: { at_ns: undefined, nth: 1, op: "write" } };
    row.append(select("when", "when", [["time", "at a time"], ["nth", onLink ? "at a request" : "before an operation"]], fault.nth ? "nth" : "time",
      (when) => (onLink ? change(ofKind(kind, run, { ...fault, ...moments[when] })) : set(moments[when]))));
  }
  if (fault.nth) row.append(choice("operation", "op", operations), number("nth", "which of these (1: the first)", "", 1, 1, 1000));
  if (!fault.nth || fault.at_ns) row.append(number("at_ns", fault.nth ? "not before" : "begins at", "s", second, 0, longest));
  for (const name of kind.uses) {
    if (fault.nth && onLink && name !== "by_ns" && name !== "way") continue; // it is about one request
    if (name in choices) row.append(choice(choices[name][0], name, choices[name][1]));
    if (name in numbers(kind)) row.append(number(name, ...numbers(kind)[name]));
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
