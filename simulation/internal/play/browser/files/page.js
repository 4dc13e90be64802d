// The page: a choice, the run that it gives, and what is to be seen of it. The address has the
// choice, so that it can be sent.
import { Engine, Superseded } from "./engine.js";
import { Drawing } from "./draw.js";
import { clock, element } from "./words.js";

const engine = new Engine();
const $ = (id) => document.getElementById(id);
const main = document.querySelector("main");

let all = null; // the engine's lists
let choice = { base: "S1", design: "default", seed: "0", schedule: null }; // a schedule of null is the story's own
let run = null; // the newest answer
let drawing = null;
let step = 0; // the event that is looked at
let spot = null; // the lane and the moment that were pointed at
let drag = null; // the fault that is dragged
let asking = 0; // the runs that have been asked for and have no answer yet
let comparing = 0; // the timer before the other locks are played
let shown = ""; // the story and the lock that the timeline shows

const ms = 1e6;
const resource = "resource";
const ways = [["", "both ways"], ["request", "requests"], ["reply", "replies"]];
const keeps = [["", "nothing"], ["second", "all but the last second"], ["all", "all"]];
const operations = ["", "acquire", "extend", "release", "read", "write"];

// readAddress takes the choice from the address.
function readAddress() {
  const words = new URLSearchParams(location.hash.slice(1));
  let schedule = null;
  if (words.has("schedule")) {
    try {
      schedule = JSON.parse(words.get("schedule"));
    } catch {
      schedule = undefined;
    }
  }
  const wrong = schedule !== null && !Array.isArray(schedule);
  if (wrong) schedule = null;
  const seed = words.get("seed") ?? "0";
  choice = { base: words.get("base") ?? "S1", design: words.get("design") ?? "", seed: /^[0-9]{1,20}$/.test(seed) ? seed : "0", schedule };
  return wrong ? "The address has a schedule that can't be read; this is the story's own." : "";
}

// writeAddress makes the address that of the choice.
function writeAddress() {
  const words = new URLSearchParams({ base: choice.base, design: choice.design, seed: choice.seed });
  if (choice.schedule) words.set("schedule", JSON.stringify(choice.schedule));
  history.replaceState(null, "", `#${words}`);
}

const scenario = () => all.scenarios.find((s) => s.id.toLowerCase() === choice.base.toLowerCase());

// designs lists those that the story is played with.
function designs() {
  const s = scenario();
  return s ? s.designs.map((d) => ({ name: d.design, title: d.title })) : all.designs;
}

// choose changes the choice and plays it.
function choose(change) {
  choice = { ...choice, ...change };
  if (!designs().some((d) => d.name === choice.design)) {
    choice.design = designs().some((d) => d.name === "default") ? "default" : designs()[0].name;
  }
  showChoice();
  writeAddress();
  return play();
}

async function play() {
  main.classList.add("stale");
  clearTimeout(comparing);
  asking++;
  try {
    run = await engine.ask({ do: "run", ...choice });
    main.classList.remove("stale");
    showError("");
    showVerdict();
    if (!drag) showRun(); // a timeline that changes under the pointer can't be aimed at
    comparing = setTimeout(compare, 300);
  } catch (error) {
    if (!(error instanceof Superseded)) showError(error.message);
  } finally {
    asking--;
  }
}

// compare plays the same faults with the other locks, one after the other. Every newer run ends it.
async function compare() {
  if (asking || drag) return; // it would take the place of that run
  const [of, others] = [run, designs().filter((d) => d.group !== "flaws")];
  const rows = others.map((d) => {
    const verdict = element("span", {}, "…");
    return { name: d.name, verdict, item: element("li", {}, element("button", { type: "button", "aria-pressed": String(d.name === run.design), onclick: () => choose({ design: d.name }) }, d.name), verdict) };
  });
  $("others").replaceChildren(...rows.map((row) => row.item));
  for (const { name, verdict, item } of rows) {
    try {
      const other = name === of.design ? of : await engine.ask({ do: "run", ...choice, design: name });
      if (run !== of) return;
      verdict.textContent = other.verdict;
      item.className = other.verdict === "none" ? "good" : "bad";
    } catch (error) {
      if (error instanceof Superseded) return;
      verdict.textContent = error.message; // such as a replica that this lock doesn't have
    }
  }
}

function showError(text) {
  $("error").textContent = text;
  $("error").hidden = !text;
  if (text) {
    $("verdict").textContent = "This can’t be played";
    $("verdict").className = "";
    $("expected").textContent = "";
  }
}

function showChoice() {
  $("base").value = scenario()?.id ?? choice.base;
  $("design").replaceChildren(...designs().map((d) => element("option", { value: d.name }, `${d.name}: ${d.title}`)));
  $("design").value = choice.design;
  $("seed").value = choice.seed;
  $("reset").disabled = choice.schedule === null;
}

function showVerdict() {
  $("verdict").textContent = run.verdict === "none" ? "Nothing is violated" : `Violated: ${run.verdict}`;
  $("verdict").className = run.verdict === "none" ? "good" : "bad";
  $("expected").textContent = run.own ? (run.asExpected ? `As expected: ${run.expected}.` : `Not as expected: ${run.unexpected}`) : "Your own faults: nothing is expected.";
}

function showRun() {
  $("steps").replaceChildren(...(scenario()?.steps ?? []).map((text) => element("li", {}, text)));
  $("command").textContent = `go run ./simulation/cmd/redlocksim ${run.arguments}`;
  $("hash").textContent = run.hash;
  drawing = new Drawing(run.picture, `Timeline of ${run.base} with ${run.design}, ${run.verdict === "none" ? "no violation" : run.verdict}`, run.schedule);
  const focus = document.activeElement?.closest(".handle")?.dataset.fault;
  const left = $("timeline").scrollLeft;
  $("timeline").replaceChildren(drawing.svg);
  $("timeline").scrollLeft = left;
  if (focus) drawing.svg.querySelector(`[data-fault="${focus}"]`)?.focus({ preventScroll: true });
  $("events").replaceChildren(...run.picture.steps.map((s, i) => element("li", { class: s.alarm ? "alarm" : s.fault ? "fault" : "" },
    element("button", { type: "button", onclick: () => look(i, true) }, element("time", {}, clock(s.at)), element("span", {}, s.text)))));
  showFaults();
  const first = run.picture.steps.findIndex((s) => s.alarm);
  const same = shown === `${run.base} ${run.design}`;
  shown = `${run.base} ${run.design}`;
  look(first < 0 ? Math.min(step, run.picture.steps.length - 1) : first, false);
  if (same) $("timeline").scrollLeft = left; // what the reader works at stays in sight
}

// look shows one event: in the list, in the timeline and at the servers.
function look(i, asked) {
  const steps = run.picture.steps;
  if (i < 0 || i >= steps.length) return;
  step = i;
  const buttons = $("events").querySelectorAll("button");
  buttons.forEach((b, n) => (n === i ? b.setAttribute("aria-current", "step") : b.removeAttribute("aria-current")));
  const list = $("events");
  const item = buttons[i].parentElement;
  if (item.offsetTop - list.offsetTop < list.scrollTop || item.offsetTop - list.offsetTop + item.offsetHeight > list.scrollTop + list.clientHeight) {
    list.scrollTop = item.offsetTop - list.offsetTop - list.clientHeight / 3;
  }
  if (asked) buttons[i].focus({ preventScroll: true });
  spot = null;
  const x = drawing.show(steps[i].at);
  const box = $("timeline");
  if (x < box.scrollLeft + 100 || x > box.scrollLeft + box.clientWidth - 40) box.scrollLeft = x - box.clientWidth / 2;
  showState(steps[i].at);
}

// showState shows what each server has at a moment.
function showState(at) {
  const picture = run.picture;
  $("moment").textContent = clock(at);
  const within = (s) => s.from <= at && at < s.until;
  $("state").replaceChildren(...picture.lanes.filter((l) => l.kind === "server").flatMap((lane) => {
    const troubles = picture.spans.filter((s) => s.lane === lane.name && within(s)).map((s) => s.kind);
    const keys = picture.keys.filter((k) => k.server === lane.name && within(k));
    const state = troubles.length ? troubles.join(", ") : "up";
    const rows = keys.length ? keys.map((k) => [k.key, k.process, k.open ? "after the end" : clock(k.until)]) : [["–", "–", "–"]];
    return rows.map((row, i) => element("tr", {}, element("th", { scope: "row" }, i ? "" : lane.name), element("td", {}, i ? "" : state), ...row.map((text) => element("td", {}, text))));
  }));
}

const names = (kind) => run.picture.lanes.filter((l) => l.kind === kind).map((l) => l.name);
const known = (list, value) => (list.some(([v]) => v === value) ? list : [...list, [value, value]]);

// showFaults shows each fault as a row of fields. A row that has the focus stays as it is.
function showFaults() {
  const focus = document.activeElement?.closest("#faults") ? document.activeElement.name : "";
  const processes = names("process").filter((name) => name !== "witness");
  $("faults").replaceChildren(...run.schedule.map((fault, i) => faultRow(fault, i, processes, names("server"))));
  if (run.schedule.length === 0) $("faults").append(element("li", {}, "None."));
  if (focus) $("faults").querySelector(`[name="${focus}"]`)?.focus({ preventScroll: true });
}

// change replaces a field of a fault. Fields without a value are left out.
function change(i, fields) {
  const schedule = structuredClone(run.schedule);
  for (const [name, value] of Object.entries(fields)) {
    if (value === "" || value === 0 || value === false) delete schedule[i][name];
    else schedule[i][name] = value;
  }
  choose({ schedule });
}

function faultRow(fault, i, processes, servers) {
  const kind = all.kinds.find((k) => k.kind === fault.kind);
  const field = (label, node) => element("label", {}, label, node);
  const choiceOf = (label, name, list, set = (value) => ({ [name]: value })) => {
    const node = element("select", { name: `${name}-${i}`, onchange: () => change(i, set(node.value)) },
      ...known(list, fault[name] ?? "").map(([value, text]) => element("option", { value, selected: value === (fault[name] ?? "") }, text)));
    return field(label, node);
  };
  const number = (label, name, unit, limits) => {
    const node = element("input", { type: "number", step: "any", name: `${name}-${i}`, value: (fault[name] ?? 0) / unit, ...limits,
      onchange: () => node.reportValidity() && change(i, { [name]: Math.round(node.valueAsNumber * unit) || 0 }) });
    return field(label, node);
  };
  const check = (label, name) => {
    const node = element("input", { type: "checkbox", name: `${name}-${i}`, checked: Boolean(fault[name]), onchange: () => change(i, { [name]: node.checked }) });
    return element("label", { class: "check" }, node, label);
  };
  const anyProcess = [["*", "every client"], ...processes.map((p) => [p, p])];
  const anyServer = [["*", "every server"], ...servers.map((s) => [s, s]), ...(kind.where === "link" ? [[resource, resource]] : [])];
  const fields = [element("strong", {}, `${fault.kind}: ${fault.process ?? ""}${fault.process && fault.server ? " – " : ""}${fault.server ?? ""} ${kind.title}`)];
  if (kind.where === "either") {
    const node = element("select", { name: `who-${i}`, onchange: () => change(i, servers.includes(node.value) ? { server: node.value, process: "" } : { process: node.value, server: "" }) },
      ...known([...processes, ...servers].map((n) => [n, n]), fault.process || fault.server).map(([value, text]) => element("option", { value, selected: value === (fault.process || fault.server) }, text)));
    fields.push(field("of", node));
  } else {
    if (kind.where !== "server") fields.push(choiceOf("client", "process", anyProcess));
    if (kind.where !== "process") fields.push(choiceOf("server", "server", anyServer));
  }
  if (kind.uses.includes("nth")) {
    fields.push(number("its n-th (0: by time)", "nth", 1, { min: 0, max: 1000 }));
    if (fault.nth) fields.push(choiceOf("operation", "op", operations.map((op) => [op, op || "any"])));
  }
  fields.push(number(fault.nth ? "not before, ms" : "at, ms", "at_ns", ms, { min: 0, max: 2592000000 }));
  for (const name of kind.uses) {
    if (name === "for_ns") fields.push(number("for, ms", name, ms, { min: 0, max: 2592000000 }));
    if (name === "by_ns") fields.push(number("by, ms", name, ms, { min: fault.kind === "step" ? -2592000000 : 0, max: 2592000000 }));
    if (name === "ppm") fields.push(number(fault.kind === "rate" ? "fast by, %" : "share, %", name, 1e4, fault.kind === "rate" ? { min: -50, max: 50 } : { min: 0, max: 100 }));
    if (name === "replica") fields.push(number("replica", name, 1, { min: 0, max: 5 }));
    if (name === "way") fields.push(choiceOf("messages", name, ways));
    if (name === "keep") fields.push(choiceOf("keeps", name, keeps));
    if (name === "frozen") fields.push(check("wall clock stops, too", name));
    if (name === "shuffled") fields.push(check("messages shuffled", name));
  }
  fields.push(element("button", { type: "button", name: `remove-${i}`, onclick: () => choose({ schedule: run.schedule.filter((_, n) => n !== i) }), "aria-label": `Remove fault ${i + 1}, ${fault.kind}` }, "Remove"));
  return element("li", {}, ...fields);
}

// add puts a new fault at the moment that is looked at, on the lane that was pointed at.
function add() {
  if (!run) return;
  const kind = all.kinds.find((k) => k.kind === $("kind").value);
  const fault = { ...kind.example, at_ns: Math.round(spot?.at ?? run.picture.steps[step]?.at ?? 1e9) };
  const [processes, servers] = [names("process"), names("server")];
  const onServer = servers.includes(spot?.lane);
  if (kind.where === "process" || kind.where === "link" || (kind.where === "either" && !onServer)) fault.process = processes.includes(spot?.lane) ? spot.lane : processes[0];
  if (kind.where === "server" || kind.where === "link" || (kind.where === "either" && onServer)) fault.server = onServer ? spot.lane : servers[0];
  choose({ schedule: [...run.schedule, fault] });
}

// dragged is a schedule with a fault moved or stretched by some pixels. A fault at an operation
// doesn't move.
function dragged(schedule, i, pixels, stretch) {
  const fault = { ...schedule[i] };
  const from = drawing.begins(fault);
  if (stretch && fault.for_ns) fault.for_ns = Math.max(1e4, drawing.later(from + fault.for_ns, pixels) - from);
  else if (!stretch && !fault.nth) fault.at_ns = drawing.later(from, pixels);
  return schedule.with(i, fault);
}

// press begins to drag a fault, or moves the cursor to the place.
function press(event) {
  const handle = event.target.closest(".handle");
  if (!run || event.button !== 0 || drag) return;
  const box = drawing.svg.getBoundingClientRect();
  if (!handle) {
    spot = { lane: drawing.laneAt(event.clientY - box.top), at: Math.max(0, drawing.at(event.clientX - box.left)) };
    drawing.show(spot.at);
    showState(spot.at);
    return;
  }
  handle.focus({ preventScroll: true });
  drag = { i: Number(handle.dataset.fault), stretch: event.target.classList.contains("grip-end"), from: event.clientX, before: choice.schedule, schedule: run.schedule, handle, moved: false };
  $("timeline").setPointerCapture(event.pointerId);
  event.preventDefault();
}

function move(event) {
  if (!drag) return;
  const by = event.clientX - drag.from;
  if (Math.abs(by) < 3 && !drag.moved) return;
  drag.moved = true;
  const grip = drag.handle.querySelector(".grip");
  if (drag.stretch) {
    drag.width ??= grip.width.baseVal.value;
    grip.setAttribute("width", Math.max(4, drag.width + by));
    drag.handle.querySelector(".grip-end").setAttribute("transform", `translate(${Math.max(4 - drag.width, by)})`);
  } else if (!drag.schedule[drag.i].nth) {
    drag.handle.setAttribute("transform", `translate(${by})`);
  } else {
    return;
  }
  choose({ schedule: dragged(drag.schedule, drag.i, by, drag.stretch) });
}

// drop ends a drag. If it was cancelled, the faults are as before.
function drop(event) {
  if (!drag) return;
  const { moved, before } = drag;
  const cancelled = event.type !== "pointerup";
  drag = null;
  if (moved) choose(cancelled ? { schedule: before } : {});
}

// grip moves, stretches or removes the fault that has the focus.
function grip(event) {
  if (drag && event.key === "Escape") return drop(event);
  const i = Number(event.target.closest(".handle").dataset.fault);
  const by = { ArrowRight: 6, ArrowLeft: -6 }[event.key];
  if (event.key === "Delete" || event.key === "Backspace") choose({ schedule: run.schedule.filter((_, n) => n !== i) });
  else if (by) choose({ schedule: dragged(run.schedule, i, by, event.shiftKey) });
  else return;
  event.preventDefault();
}

// keys moves from event to event with the arrows, in the list and in the timeline.
function keys(event) {
  if (event.target.closest(".handle")) return grip(event);
  const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
  if (!run || !by || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  look(Math.max(0, Math.min(run.picture.steps.length - 1, step + by)), event.currentTarget === $("events"));
}

async function start() {
  const notice = readAddress();
  try {
    all = await engine.ask({ do: "list" });
  } catch (error) {
    showError(error.message);
    return;
  }
  $("base").replaceChildren(
    element("optgroup", { label: "stories" }, ...all.scenarios.map((s) => element("option", { value: s.id }, `${s.id}: ${s.title}`))),
    element("optgroup", { label: "random faults" }, ...all.faults.map((f) => element("option", { value: f.name }, `${f.name}: ${f.title}`))));
  $("kind").replaceChildren(...all.kinds.map((k) => element("option", { value: k.kind }, `${k.kind}: ${k.title}`)));
  for (const id of ["base", "design", "seed", "kind", "add"]) $(id).disabled = false;
  $("base").onchange = () => choose({ base: $("base").value, schedule: null });
  $("design").onchange = () => choose({ design: $("design").value });
  $("seed").onchange = () => $("seed").reportValidity() && choose({ seed: $("seed").value || "0" });
  $("choice").onsubmit = (event) => event.preventDefault();
  $("add").onclick = add;
  $("reset").onclick = () => choose({ schedule: null });
  $("events").onkeydown = keys;
  $("timeline").onkeydown = keys;
  $("timeline").onpointerdown = press;
  $("timeline").onpointermove = move;
  $("timeline").onpointerup = $("timeline").onpointercancel = drop;
  window.onhashchange = () => {
    const notice = readAddress();
    choose({}).then(() => notice && showError(notice));
  };
  await choose({});
  if (notice) showError(notice);
}

start();
