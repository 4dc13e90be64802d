// The page: what the reader has chosen, and the run that follows from it. The address contains the
// choice, so that it can be sent.
import { Engine, Superseded } from "./engine.js";
import { Drawing } from "./draw.js";
import { addressOf, chapterNodes, contents, tour } from "./prose.js";
import { Challenge } from "./challenge.js";
import { clock, element, parsed } from "./words.js";

const engine = new Engine();
const challenge = new Challenge();
const $ = (id) => document.getElementById(id);
const main = document.querySelector("main");

let all = null; // the engine's lists
let chapters = [];
let choice = { base: "S1", design: "default", seed: "0", schedule: null }; // a schedule of null is the scenario's own
let place = { chapter: "", tour: 0 }; // the chapter's ID, and the step of the tour from 1 on
let run = null; // the newest answer
let drawing = null;
let step = 0; // the selected event
let spot = null; // the lane and the moment that were clicked last
let drag = null; // the fault that is dragged, on the timeline or from the palette
let asking = 0; // the requests that have no answer yet
let comparing = 0; // the timer after which the other locks are played
let placed = ""; // what showPlace shows
let shown = ""; // the scenario and the lock that the timeline shows

const ms = 1e6;
const resource = "resource";
const ways = [["", "both ways"], ["request", "requests"], ["reply", "replies"]];
const keeps = [["", "nothing"], ["second", "all but the last second"], ["all", "all"]];
const compared = ["setpx-cad", "redlock", "default", "token-admit"]; // side by side
const operations = ["", "acquire", "extend", "release", "read", "write"];

// readAddress takes the choice from the address. It returns a notice if it can't read the faults.
function readAddress() {
  const words = new URLSearchParams(location.hash.slice(1));
  const step = Number(words.get("tour") ?? 0);
  place = { chapter: words.get("chapter") ?? "", tour: Number.isInteger(step) && step >= 1 && step <= tour.length ? step : 0 };
  if (place.tour && !words.has("base")) {
    choice = { seed: "0", schedule: null, ...tour[place.tour - 1].state };
    return "";
  }
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
  return wrong ? "The faults in the address can’t be read. These are the scenario’s own faults." : "";
}

// writeAddress makes the address that of the choice.
function writeAddress() {
  history.replaceState(null, "", addressOf({ chapter: place.chapter, tour: place.tour || "", ...choice }));
}

const scenario = () => all.scenarios.find((s) => s.id.toLowerCase() === choice.base.toLowerCase());

// designs lists the locks with which the scenario is played.
function designs() {
  const s = scenario();
  return s ? s.designs : all.designs;
}

// choose changes the choice and plays it. During a drag only the timeline changes, because browsers
// limit how often a page may change its address.
function choose(change) {
  choice = { ...choice, ...change };
  if (!designs().some((d) => d.name === choice.design)) {
    choice.design = designs().some((d) => d.name === "default") ? "default" : designs()[0].name;
  }
  challenge.about(choice);
  if (!drag) {
    showChoice();
    writeAddress();
  }
  return play();
}

async function play() {
  main.classList.add("stale");
  clearTimeout(comparing);
  asking++;
  try {
    run = await engine.ask({ do: "run", ...choice, axis: drag?.axis }); // with another axis the timeline couldn't be aimed at
    main.classList.remove("stale");
    showError("");
    showVerdict();
    if (!drag) showRun();
    else showDrawing();
    comparing = setTimeout(compare, 300);
  } catch (error) {
    if (!(error instanceof Superseded)) showError(error.message);
  } finally {
    asking--;
  }
}

// compare plays the same faults with the other locks, one after the other. A newer run ends it.
async function compare() {
  if (asking || drag) return; // it would supersede that run
  const [of, list] = [run, designs().filter((d) => scenario() || d.group !== "flaws")];
  const rows = [];
  const add = (parent, names, drawn) => {
    $(parent).replaceChildren(...names.map((name) => {
      const verdict = element("span", {}, "…");
      const { group, title: words } = list.find((d) => d.name === name);
      const title = group ? `${group}: ${words}` : words;
      const item = element("li", {}, element("button", { type: "button", "aria-pressed": String(name === of.design), title, onclick: () => choose({ design: name }) }, name), ...(drawn ? [element("small", {}, title)] : []), verdict);
      rows.push({ name, verdict, item, drawn });
      return item;
    }));
  };
  add("side", compared.filter((name) => list.some((d) => d.name === name)), true);
  add("others", $("all").open ? list.map((d) => d.name) : [], false);
  const answers = new Map();
  for (const { name, verdict, item, drawn } of rows) {
    try {
      if (!answers.has(name)) answers.set(name, await engine.ask({ do: "run", ...choice, design: name, small: true }));
      if (run !== of) return;
      const other = answers.get(name);
      verdict.textContent = other.verdict;
      if (drawn) item.append(parsed(other.picture.svg));
      item.className = other.verdict === "none" ? "good" : "bad";
    } catch (error) {
      if (error instanceof Superseded) return;
      verdict.textContent = error.message; // such as a replica that this lock doesn't have
    }
  }
}

// showNotice says what couldn't be read. The run on the page is another one.
function showNotice(text) {
  $("error").textContent = text;
  $("error").hidden = !text;
}

function showError(text) {
  showNotice(text);
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
  showPlace();
}

// showPlace shows the chapter, or the step of the tour.
function showPlace() {
  const key = JSON.stringify([place, { ...choice, schedule: choice.schedule !== null }]);
  if (key === placed) return;
  placed = key;
  const chapter = chapters.find((c) => c.id === place.chapter);
  $("chapters").replaceChildren(...contents(chapters, place.chapter));
  $("chapter").hidden = !chapter;
  if (chapter) {
    $("chapter-title").textContent = chapter.title;
    const guarded = (base) => (all.scenarios.find((s) => s.id === base)?.designs ?? all.designs).some((d) => d.name === "token-admit");
    const focus = document.activeElement?.closest("#chapter-text")?.contains(document.activeElement) && document.activeElement.textContent;
    $("chapter-text").replaceChildren(...chapterNodes(chapter, choice, guarded));
    if (focus) [...$("chapter-text").querySelectorAll("a")].find((a) => a.textContent === focus)?.focus({ preventScroll: true });
  }
  const step = tour[place.tour - 1];
  $("tour").hidden = !step;
  if (step) {
    $("tour-title").textContent = `Tour, step ${place.tour} of ${tour.length}: ${step.title}`;
    $("tour-text").textContent = step.text;
    $("tour-back").hidden = place.tour === 1;
    $("tour-next").hidden = place.tour === tour.length;
    $("tour-back").href = `#tour=${place.tour - 1}`;
    $("tour-next").href = `#tour=${place.tour + 1}`;
  }
}

function showVerdict() {
  $("verdict").textContent = run.verdict === "none" ? "Nothing is violated" : `Violated: ${run.verdict}`;
  $("verdict").className = run.verdict === "none" ? "good" : "bad";
  $("expected").textContent = run.own ? (run.asExpected ? `As expected: ${run.expected}.` : `Not as expected: ${run.unexpected}`) : "You changed the faults, so no result is expected.";
}

function showRun() {
  $("steps").replaceChildren(...(scenario()?.steps ?? []).map((text) => element("li", {}, text)));
  $("command").textContent = `go run ./simulation/cmd/redlocksim ${run.arguments}`;
  $("hash").textContent = run.hash;
  for (const item of $("side").children) { // they show an earlier run; compare will replace them
    item.className = "";
    item.querySelector("span").textContent = "…";
    item.querySelector("svg")?.remove();
  }
  const left = $("timeline").scrollLeft;
  showDrawing();
  $("events").replaceChildren(...run.picture.steps.map((s, i) => element("li", { class: s.alarm ? "alarm" : s.fault ? "fault" : "" },
    element("button", { type: "button", onclick: () => look(i, true) }, element("time", {}, clock(s.at)), element("span", {}, s.text)))));
  showFaults();
  const same = shown === `${run.base} ${run.design}`;
  const began = shown.startsWith(`${run.base} `) ? step : 0;
  shown = `${run.base} ${run.design}`;
  look(run.picture.first < 0 ? Math.min(began, run.picture.steps.length - 1) : run.picture.first, false);
  if (same) $("timeline").scrollLeft = left; // what the reader works on stays in view
}

// showDrawing draws the timeline again. During a drag it shows the faults as they are now, which may be
// newer than the run.
function showDrawing() {
  drawing = new Drawing(run.picture, `Timeline of ${run.base} with ${run.design}, ${run.verdict === "none" ? "no violation" : run.verdict}`, (drag && choice.schedule) ?? run.schedule);
  const focus = document.activeElement?.closest(".handle")?.dataset.fault;
  const left = $("timeline").scrollLeft;
  $("timeline").replaceChildren(drawing.svg);
  $("timeline").scrollLeft = left;
  drawing.scrolled($("timeline").scrollLeft);
  if (focus) drawing.svg.querySelector(`[data-fault="${focus}"]`)?.focus({ preventScroll: true });
}

// look selects an event: in the list, in the timeline and in the table of servers.
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

// showState shows the state and the keys of each server at a moment.
function showState(at) {
  const picture = run.picture;
  $("moment").textContent = clock(at);
  const within = (s) => s.from <= at && at < s.until;
  $("state").replaceChildren(...picture.lanes.filter((l) => l.kind === "server").flatMap((lane) => {
    const troubles = picture.spans.filter((s) => s.lane === lane.name && within(s)).map((s) => s.kind);
    const keys = picture.keys.filter((k) => k.server === lane.name && within(k));
    const state = troubles.length ? troubles.join(", ") : "up";
    const rows = keys.length ? keys.map((k) => [k.key, k.process, k.open ? "after the run’s end" : clock(k.until)]) : [["–", "–", "–"]];
    return rows.map((row, i) => element("tr", {}, i ? element("td") : element("th", { scope: "row" }, lane.name), element("td", {}, i ? "" : state), ...row.map((text) => element("td", {}, text))));
  }));
}

const names = (kind) => run.picture.lanes.filter((l) => l.kind === kind).map((l) => l.name);
const known = (list, value) => (list.some(([v]) => v === value) ? list : [...list, [value, value]]);

// showFaults shows each fault as a row of fields. The field with the focus keeps it.
function showFaults() {
  const focus = document.activeElement?.closest("#faults") ? document.activeElement.name : "";
  const processes = names("process").filter((name) => name !== "witness");
  $("faults").replaceChildren(...run.schedule.map((fault, i) => faultRow(fault, i, processes, names("server"))));
  if (run.schedule.length === 0) $("faults").append(element("li", {}, "None."));
  if (focus) $("faults").querySelector(`[name="${focus}"]`)?.focus({ preventScroll: true });
}

// change replaces fields of a fault. Fields without a value are removed.
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
  const anyServer = [["*", "every server"], ...servers.map((s) => [s, s]), ...(kind.resource ? [[resource, resource]] : [])];
  const fields = [element("strong", {}, `${fault.process ?? ""}${fault.process && fault.server ? " – " : ""}${fault.server ?? ""} ${kind.title}`),
    field("kind", element("select", { name: `kind-${i}`, onchange: (event) => choose({ schedule: run.schedule.with(i, ofKind(event.target.value, fault)) }) },
      ...all.kinds.map((k) => element("option", { value: k.kind, selected: k.kind === fault.kind }, k.kind))))];
  if (kind.where === "either") {
    const node = element("select", { name: `who-${i}`, onchange: () => change(i, servers.includes(node.value) ? { server: node.value, process: "" } : { process: node.value, server: "" }) },
      ...known([...processes, ...servers].map((n) => [n, n]), fault.process || fault.server).map(([value, text]) => element("option", { value, selected: value === (fault.process || fault.server) }, text)));
    fields.push(field("client or server", node));
  } else {
    if (kind.where !== "server") fields.push(choiceOf("client", "process", anyProcess));
    if (kind.where !== "process") fields.push(choiceOf("server", "server", anyServer));
  }
  if (kind.uses.includes("nth")) {
    fields.push(number("n-th operation (0: at a time)", "nth", 1, { min: 0, max: 1000 }));
    if (fault.nth) fields.push(choiceOf("operation", "op", operations.map((op) => [op, op || "any"])));
  }
  fields.push(number(fault.nth ? "not before, ms" : "at, ms", "at_ns", ms, { min: 0, max: 2592000000 }));
  for (const name of kind.uses) {
    if (name === "for_ns") fields.push(number("for, ms", name, ms, { min: 0, max: 2592000000 }));
    if (name === "by_ns") fields.push(number("by, ms", name, ms, { min: kind.signed ? -2592000000 : 0, max: 2592000000 }));
    if (name === "ppm") fields.push(number(kind.signed ? "fast by, %" : "share, %", name, 1e4, { min: kind.signed ? -kind.most_ppm / 1e4 : 0, max: kind.most_ppm / 1e4 }));
    if (name === "replica") fields.push(number("replica", name, 1, { min: 0, max: 5 }));
    if (name === "way") fields.push(choiceOf("messages", name, ways));
    if (name === "keep") fields.push(choiceOf("keeps", name, keeps));
    if (name === "frozen") fields.push(check("the wall clock stops, too", name));
  }
  fields.push(element("button", { type: "button", name: `remove-${i}`, onclick: () => choose({ schedule: run.schedule.filter((_, n) => n !== i) }), "aria-label": `Remove fault ${i + 1}, ${fault.kind}` }, "Remove"));
  return element("li", {}, ...fields);
}

// ofKind is a fault of a kind at the moment of another fault. It hits the same client or server, if its
// kind can.
function ofKind(name, { at_ns, process, server }) {
  const kind = all.kinds.find((k) => k.kind === name);
  const fault = { ...kind.example, at_ns };
  const onServer = server && server !== resource && !(process && kind.where === "either");
  if (kind.where === "process" || kind.where === "link" || (kind.where === "either" && !onServer)) fault.process = process || names("process")[0];
  if (kind.where === "server" || kind.where === "link" || (kind.where === "either" && onServer)) fault.server = onServer || (server && kind.resource) ? server : names("server")[0];
  return fault;
}

// newFault is a fault of a kind on a lane at a moment.
function newFault(name, { lane, at }) {
  const isServer = names("server").includes(lane) || lane === resource;
  return ofKind(name, { at_ns: Math.round(Math.max(0, at) / 1e4) * 1e4, process: names("process").includes(lane) ? lane : "", server: isServer ? lane : "" });
}

// add adds a new fault at the lane and the moment that were clicked last, or at the moment of the
// selected event.
function add(name) {
  if (run) choose({ schedule: [...run.schedule, newFault(name, spot ?? { lane: "", at: run.picture.steps[step]?.at ?? 1e9 })] });
}

// dragged is a schedule with a fault moved or stretched by some pixels. A fault at an operation
// doesn't move.
function dragged(schedule, i, pixels, stretch) {
  const fault = { ...schedule[i] };
  const from = (drag?.start ?? drawing).begins(fault);
  if (stretch && fault.for_ns) fault.for_ns = Math.max(1e4, drawing.later(from + fault.for_ns, pixels) - from);
  else if (!stretch && !fault.nth) fault.at_ns = drawing.later(from, pixels);
  return schedule.with(i, fault);
}

// placeOf is the lane and the moment below the pointer, undefined outside the lanes.
function placeOf(event) {
  const [box, svg] = [$("timeline").getBoundingClientRect(), drawing.svg.getBoundingClientRect()];
  const lane = drawing.laneAt(event.clientY - svg.top);
  if (!lane || event.clientX < box.left || event.clientX > box.right) return undefined;
  return { lane, at: Math.max(0, drawing.at(event.clientX - svg.left)) };
}

// press starts to drag a fault, or moves the cursor to the pointer.
function press(event) {
  const handle = event.target.closest(".handle");
  if (!run || event.button !== 0 || drag) return;
  if (!handle) {
    const at = placeOf(event);
    if (!at) return;
    spot = at;
    drawing.show(spot.at);
    showState(spot.at);
    return;
  }
  handle.focus({ preventScroll: true });
  const scrolled = $("timeline").scrollLeft;
  drag = { i: Number(handle.dataset.fault), stretch: event.target.classList.contains("grip-end"), from: event.clientX, before: choice.schedule, schedule: run.schedule, axis: run.picture.axis, start: drawing, scrolled, moved: false };
  $("timeline").setPointerCapture(event.pointerId);
  event.preventDefault();
}

function move(event) {
  if (!drag || drag.kind) return;
  const by = event.clientX - drag.from + $("timeline").scrollLeft - drag.scrolled;
  if (Math.abs(by) < 3 && !drag.moved) return;
  if (drag.schedule[drag.i].nth && !drag.stretch) return;
  drag.moved = true;
  choose({ schedule: dragged(drag.schedule, drag.i, by, drag.stretch) });
  drawing.grips(choice.schedule); // the fault follows the pointer before its run has ended
}

// drop ends a drag. If it was cancelled, the faults are as before.
function drop(event) {
  if (!drag) return;
  if (drag.kind) return put(event);
  const { moved, before } = drag;
  const cancelled = event.type !== "pointerup";
  drag = null;
  if (moved) choose(cancelled ? { schedule: before } : {});
}

// take starts to drag a new fault from the palette. On a touch screen the reader presses the button
// instead, because dragging scrolls the page.
function take(event, name) {
  if (!run || event.button !== 0 || event.pointerType === "touch" || drag) return;
  delete event.currentTarget.dataset.carried;
  drag = { kind: name, button: event.currentTarget, from: [event.clientX, event.clientY], before: choice.schedule, schedule: run.schedule, axis: run.picture.axis, moved: false, over: undefined };
  event.currentTarget.setPointerCapture(event.pointerId);
}

function carry(event) {
  if (!drag?.kind) return;
  drag.moved ||= Math.hypot(event.clientX - drag.from[0], event.clientY - drag.from[1]) > 4;
  if (!drag.moved) return;
  document.body.classList.add("carrying");
  const over = placeOf(event);
  if (!over && !drag.over) return;
  drag.over = over;
  choose({ schedule: over ? [...drag.schedule, newFault(drag.kind, over)] : drag.before });
  drawing.grips(choice.schedule ?? drag.schedule);
}

// put ends a drag from the palette. If it ends outside the lanes, no fault is added.
function put(event) {
  if (!drag?.kind) return;
  const { moved, over, before, button } = drag;
  drag = null;
  document.body.classList.remove("carrying");
  if (moved) button.dataset.carried = "yes"; // a click follows
  if (moved && (over || choice.schedule !== before)) choose(over && event.type === "pointerup" ? {} : { schedule: before });
}

// escape cancels a drag.
function escape(event) {
  if (event.key !== "Escape" || !drag) return;
  drop(event);
}

// grip moves, stretches or removes the fault that has the focus.
function grip(event) {
  const i = Number(event.target.closest(".handle").dataset.fault);
  const by = { ArrowRight: 6, ArrowLeft: -6 }[event.key];
  if (event.key === "Delete" || event.key === "Backspace") choose({ schedule: run.schedule.filter((_, n) => n !== i) });
  else if (by) choose({ schedule: dragged(run.schedule, i, by, event.shiftKey) });
  else return;
  event.preventDefault();
}

// keys moves from event to event with the arrow keys, in the list and in the timeline.
function keys(event) {
  if (event.target.closest(".handle")) return grip(event);
  const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
  if (!run || !by || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  look(Math.max(0, Math.min(run.picture.steps.length - 1, step + by)), event.currentTarget === $("events"));
}

// find searches for faults that break the lock, shrinks them, and shows the run.
async function find(event) {
  event.preventDefault();
  if (!run || challenge.running || !$("challenge-most").reportValidity()) return;
  const { base, design } = choice;
  const seed = String((BigInt(choice.seed) + 1n) % (1n << 64n)); // a second search finds another one
  const kind = $("challenge-kind").value;
  const count = (n) => ($("challenge-count").textContent = `${n} runs.`);
  searching(true);
  $("challenge-found").textContent = "";
  try {
    const found = await challenge.search({ base, design, seed, kinds: kind ? [kind] : [], most: $("challenge-most").valueAsNumber }, count);
    if (!found) return say("Cancelled.");
    say(`The lock breaks: ${found.verdict}. Of ${faults(found.schedule.length)}, removing those that aren’t needed …`);
    const less = await challenge.shrink({ base, design, ...found });
    if (!less) say(`Cancelled. The run above has all ${faults(found.schedule.length)}.`);
    else say(`The lock breaks: ${less.kind}. Needed: ${faults(less.schedule.length)} of ${found.schedule.length}, found in ${less.runs} more runs. That run is shown above.`);
    await choose({ base, design, seed: found.seed, schedule: less?.schedule ?? found.schedule });
  } catch (error) {
    say(error.message);
  } finally {
    searching(false);
  }
}

const say = (text) => ($("challenge-found").textContent = text);
const faults = (n) => (n === 1 ? "1 fault" : `${n} faults`);

function searching(on) {
  const [shown, hidden] = on ? ["challenge-stop", "challenge-go"] : ["challenge-go", "challenge-stop"];
  const focus = document.activeElement === $(hidden);
  [$(shown).hidden, $(hidden).hidden] = [false, true];
  if (focus) $(shown).focus({ preventScroll: true });
}

async function loadChapters() {
  const response = await fetch("chapters.json");
  if (!response.ok) throw new Error(`The chapters can’t be loaded: chapters.json: ${response.status}`);
  return response.json();
}

// paletteItem is the button of a kind of fault. It can be dragged or pressed.
function paletteItem({ kind, title }) {
  return element("li", {}, element("button", {
    type: "button", title, "aria-label": `Add ${kind}: ${title}`, "data-kind": kind,
    onpointerdown: (event) => take(event, kind), onpointermove: carry, onpointerup: put, onpointercancel: put,
    onclick: (event) => {
      if (event.currentTarget.dataset.carried) delete event.currentTarget.dataset.carried;
      else add(kind);
    },
  }, kind));
}

async function start() {
  const notice = readAddress();
  try {
    [all, chapters] = await Promise.all([engine.ask({ do: "list" }), loadChapters()]);
  } catch (error) {
    showError(error.message);
    return;
  }
  $("base").replaceChildren(
    element("optgroup", { label: "scenarios" }, ...all.scenarios.map((s) => element("option", { value: s.id }, `${s.id}: ${s.title}`))),
    element("optgroup", { label: "random faults" }, ...all.faults.map((f) => element("option", { value: f.name }, `${f.name}: ${f.title}`))));
  $("palette").replaceChildren(...all.kinds.map(paletteItem));
  $("challenge-kind").append(...all.kinds.map((k) => element("option", { value: k.kind }, `${k.kind}: ${k.title}`)));
  for (const id of ["base", "design", "seed", "clear", "challenge-kind", "challenge-most", "challenge-go"]) $(id).disabled = false;
  $("base").onchange = () => {
    place = { chapter: "", tour: 0 };
    choose({ base: $("base").value, schedule: null });
  };
  $("design").onchange = () => choose({ design: $("design").value });
  $("seed").onchange = () => $("seed").reportValidity() && choose({ seed: $("seed").value || "0" });
  $("choice").onsubmit = (event) => event.preventDefault();
  $("reset").onclick = () => choose({ schedule: null });
  $("clear").onclick = () => choose({ schedule: [] });
  $("tour-end").onclick = () => {
    place = { chapter: place.chapter, tour: 0 };
    choose({});
  };
  $("all").ontoggle = () => run && compare();
  $("challenge").onsubmit = find;
  $("challenge-stop").onclick = () => challenge.stop();
  $("events").onkeydown = keys;
  $("timeline").onkeydown = keys;
  document.onkeydown = escape;
  $("timeline").onscroll = () => drawing?.scrolled($("timeline").scrollLeft);
  $("timeline").onpointerdown = press;
  $("timeline").onpointermove = move;
  $("timeline").onpointerup = $("timeline").onpointercancel = drop;
  window.onhashchange = () => {
    const before = place;
    const notice = readAddress();
    choose({}).then(() => notice && showNotice(notice));
    // The reader has followed a link to the step or the chapter.
    if (place.tour && place.tour !== before.tour) $("tour-title").focus();
    else if (place.chapter && place.chapter !== before.chapter) $("chapter-title").focus();
  };
  await choose({});
  if (notice) showNotice(notice);
}

start();
