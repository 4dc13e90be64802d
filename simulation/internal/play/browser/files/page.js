// The page: what the reader has chosen, and the run that follows from it. The address contains the
// choice, so that it can be sent.
import { Engine, Superseded } from "./engine.js";
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
let asking = 0; // the requests that have no answer yet
let comparing = 0; // the timer after which the other locks are played
let placed = null; // the chapter that showPlace shows

const ms = 1e6;
const resource = "resource";
const ways = [["", "both ways"], ["request", "requests"], ["reply", "replies"]];
const keeps = [["", "nothing"], ["second", "all but the last second"], ["all", "all"]];
const compared = ["setpx-cad", "redlock", "default", "token-admit"]; // side by side
const beyondLease = 12e9; // ns
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
  const chapter = !words.has("base") && chapters.find((c) => c.id === place.chapter);
  if (chapter) {
    choice = { ...chapter.runs[0], schedule: null };
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

// choose changes the choice and plays it.
function choose(change) {
  choice = { ...choice, ...change };
  if (!designs().some((d) => d.name === choice.design)) {
    choice.design = designs().some((d) => d.name === "default") ? "default" : designs()[0].name;
  }
  challenge.about(choice);
  writeAddress();
  showChoice();
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
    showRun();
    comparing = setTimeout(compare, 300);
  } catch (error) {
    if (!(error instanceof Superseded)) showError(/no scenario/.test(error.message) ? `There is no scenario “${choice.base}”. Choose one from the list.` : error.message);
  } finally {
    asking--;
  }
}

// compare plays the same faults with the other locks, one after the other. A newer run ends it.
async function compare() {
  if (asking) return; // it would supersede that run
  const of = run;
  const list = designs().filter((d) => ($("all").checked ? scenario() || d.group !== "flaws" : compared.includes(d.name)));
  if (!$("all").checked) list.sort((a, b) => compared.indexOf(a.name) - compared.indexOf(b.name));
  const rows = list.map(({ name, group, title }) => {
    const verdict = element("span", {}, "…");
    const button = element("button", { type: "button", "aria-pressed": String(name === of.design), onclick: () => choose({ design: name }) }, name);
    return { name, verdict, item: element("li", {}, button, element("small", {}, group ? `${group}: ${title}` : title), verdict) };
  });
  const focus = document.activeElement?.closest("#side button")?.textContent;
  $("side").replaceChildren(...rows.map((row) => row.item));
  if (focus) [...$("side").querySelectorAll("button")].find((b) => b.textContent === focus)?.focus({ preventScroll: true });
  for (const { name, verdict, item } of rows) {
    try {
      const other = name === of.design ? of : await engine.ask({ do: "run", ...choice, design: name });
      if (run !== of) return;
      verdict.textContent = other.nobody && other.verdict === "none" ? "none; nobody got the lock" : other.verdict;
      item.append(parsed(other.svg));
      item.className = classOf(other);
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

// showPlace shows the chapter, or the step of the tour. The address is that of the choice.
function showPlace() {
  const chapter = chapters.find((c) => c.id === place.chapter);
  if (chapter !== placed) {
    placed = chapter;
    $("chapters").replaceChildren(...contents(chapters, place.chapter));
    $("chapter").hidden = !chapter;
    $("chapter-title").textContent = chapter?.title ?? "";
    const guarded = (base) => (all.scenarios.find((s) => s.id === base)?.designs ?? all.designs).some((d) => d.name === "token-admit");
    $("chapter-text").replaceChildren(...(chapter ? chapterNodes(chapter, guarded) : []));
  }
  for (const link of $("chapter-text").querySelectorAll("a.button")) link.ariaCurrent = link.hash === location.hash ? "true" : null;
  const step = tour[place.tour - 1];
  document.body.classList.toggle("touring", Boolean(step) && !step.free);
  $("tour").hidden = !step;
  if (step) {
    $("slide").hidden = !step.slide;
    $("tour-title").textContent = `Tour, step ${place.tour} of ${tour.length}: ${step.title}`;
    $("tour-text").textContent = step.text;
    $("tour-back").hidden = place.tour === 1;
    $("tour-next").hidden = place.tour === tour.length;
    $("tour-back").href = `#tour=${place.tour - 1}`;
    $("tour-next").href = `#tour=${place.tour + 1}`;
  }
}

const verdictOf = (of) => (of.verdict !== "none" ? `Violated: ${of.verdict}` : of.nobody ? "Nothing went wrong; nobody got the lock" : "Nothing went wrong");
const classOf = (of) => (of.verdict !== "none" ? "bad" : of.nobody ? "" : "good");

// expectedOf is the expected result in a sentence. That of random faults is about many runs, and is one.
function expectedOf(of) {
  if (!of.own) return "Your own faults: no expected result.";
  if (!of.asExpected) return `Not as expected: ${of.unexpected}.`;
  if (of.expected === "anything") return "No expected result.";
  if (scenario()) return of.verdict === of.expected ? "As expected." : `Other runs break this lock: ${of.expected}.`;
  const expected = of.verdict === "none" ? of.expected.replace(/^some runs/, "other runs do") : of.expected;
  return `${expected[0].toUpperCase()}${expected.slice(1)}.`;
}

// told reports whether the scenario's steps are about this run: with one server, those that name others aren't.
const told = (steps) => steps.join(" ").match(/\b[B-E]\b/g)?.every((name) => run.servers.includes(name)) ?? true;

function showRun() {
  $("verdict").textContent = verdictOf(run);
  $("verdict").className = classOf(run);
  $("expected").textContent = expectedOf(run);
  $("story").hidden = !run.own || !scenario() || run.nobody || !told(scenario().steps);
  $("steps").replaceChildren(...(scenario()?.steps ?? []).map((text) => element("li", {}, text)));
  $("timeline").replaceChildren(parsed(run.svg));
  $("legend").replaceChildren(...run.legend.map((text) => element("li", {}, text)));
  $("events").replaceChildren(...run.steps.map((s) => element("li", { class: s.alarm ? "alarm" : s.fault ? "fault" : "" }, element("time", {}, clock(s.at)), element("span", {}, s.text))));
  $("command").textContent = `go run ./simulation/cmd/redlocksim ${run.arguments}`;
  $("hash").textContent = run.hash;
  for (const item of $("side").children) { // they show an earlier run; compare will replace them
    item.className = "";
    item.querySelector("span").textContent = "…";
    item.querySelector("svg")?.remove();
  }
  const pause = run.schedule[0]?.for_ns;
  if (pause && document.activeElement !== $("pause")) $("pause").value = pause / 1e9;
  $("pause-length").textContent = pause ? `${pause / 1e9} s` : "";
  showFaults();
}

const known = (list, value) => (list.some(([v]) => v === value) ? list : [...list, [value, value]]);

// showFaults shows each fault as a row of fields. The field with the focus keeps it.
function showFaults() {
  const focus = document.activeElement?.closest("#faults") ? document.activeElement.name : "";
  const processes = run.processes.filter((name) => name !== "witness");
  $("faults").replaceChildren(...run.schedule.map((fault, i) => faultRow(fault, i, processes, run.servers)));
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
  const named = [fault.process === "*" ? "every client" : fault.process, fault.server === "*" ? "every server" : fault.server].filter(Boolean);
  const fields = [element("strong", {}, `${named.join(" – ")} ${kind.title}`), ...(run.idle.includes(i) ? [element("em", {}, "This fault had no effect: without it the run is the same.")] : []),
    field("kind", element("select", { name: `kind-${i}`, onchange: (event) => choose({ schedule: run.schedule.with(i, ofKind(event.target.value, fault)) }) },
      ...all.kinds.map((k) => element("option", { value: k.kind, selected: k.kind === fault.kind }, k.kind))))];
  if (kind.where === "either") {
    const node = element("select", { name: `who-${i}`, onchange: () => change(i, servers.includes(node.value) ? { server: node.value, process: "" } : { process: node.value, server: "" }) },
      ...[...[...processes, ...servers].map((n) => [n, n]), ...(named[0] === (fault.process || fault.server) ? [] : [["*", named[0]]])].map(([value, text]) => element("option", { value, selected: value === (fault.process || fault.server) }, text)));
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

// ofKind is a fault of a kind at the moment of another fault, or when a client has the lock. It hits the
// same client or server, if its kind can.
function ofKind(name, { at_ns, nth, op, process, server }) {
  const kind = all.kinds.find((k) => k.kind === name);
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

async function start() {
  try {
    [all, chapters] = await Promise.all([engine.ask({ do: "list" }), loadChapters()]);
  } catch (error) {
    showError(error.message);
    return;
  }
  const notice = readAddress();
  $("base").replaceChildren(
    element("optgroup", { label: "scenarios" }, ...all.scenarios.map((s) => element("option", { value: s.id }, `${s.id}: ${s.title}`))),
    element("optgroup", { label: "random faults" }, ...all.faults.map((f) => element("option", { value: f.name }, `${f.name}: ${f.title}`))));
  for (const id of ["add-kind", "challenge-kind"]) $(id).append(...all.kinds.map((k) => element("option", { value: k.kind }, `${k.kind}: ${k.title}`)));
  for (const id of ["base", "design", "seed", "add-kind", "add-go", "clear", "challenge-kind", "challenge-most", "challenge-go"]) $(id).disabled = false;
  $("base").onchange = () => {
    place = { chapter: "", tour: 0 };
    choose({ base: $("base").value, schedule: null });
  };
  $("design").onchange = () => choose({ design: $("design").value });
  $("seed").onchange = () => $("seed").reportValidity() && choose({ seed: $("seed").value || "0" });
  $("choice").onsubmit = (event) => event.preventDefault();
  $("reset").onclick = () => choose({ schedule: null });
  $("clear").onclick = () => choose({ schedule: [] });
  $("add").onsubmit = (event) => {
    event.preventDefault();
    if (run) choose({ schedule: [...run.schedule, ofKind($("add-kind").value, { nth: 1, op: "write" })] });
  };
  $("pause").oninput = () => {
    choice.schedule = [{ ...run.schedule[0], for_ns: $("pause").valueAsNumber * 1e9 }];
    play();
  };
  $("pause").onchange = () => choose({}); // browsers limit how often a page may change its address
  $("tour-end").onclick = () => {
    place = { chapter: place.chapter, tour: 0 };
    choose({});
    $("tour-link").focus();
  };
  $("all").onchange = () => run && compare();
  $("challenge").onsubmit = find;
  $("challenge-stop").onclick = () => challenge.stop();
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
