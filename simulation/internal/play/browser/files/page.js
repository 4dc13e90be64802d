// The page: what the reader has chosen, and the run that follows from it. The address contains the
// choice, so that it can be sent.
import { chapters } from "./chapters.js";
import { element, options } from "./element.js";
import { play, Superseded } from "./engine.js";
import { faultRow, kindOptions, ofKind } from "./faults.js";
import { tour } from "./tour.js";

const $ = (id) => document.getElementById(id);
const main = document.querySelector("main");
const compared = ["setpx-cad", "redlock", "default", "token-admit"]; // side by side

let all = null; // what there is to choose
let choice = null; // base, design, seed and schedule; a schedule of null is the base's own
let chapter; // the argument that is shown
let chapterShown; // on the page
let step = 0; // of the tour, from 1 on
let run = null; // the newest answer

// readAddress takes the choice from the address. A step of the tour and a chapter have runs of their own.
function readAddress() {
  const words = new URLSearchParams(location.hash.slice(1));
  chapter = chapters.find((c) => c.id === words.get("chapter"));
  step = tour[words.get("tour") - 1] ? Number(words.get("tour")) : 0;
  const own = tour[step - 1]?.state ?? chapter?.runs[0];
  if (own && !words.has("base")) {
    choice = { seed: "0", schedule: null, ...own };
    return;
  }
  const seed = words.get("seed");
  choice = { base: words.get("base") ?? "S1", design: words.get("design"), seed: /^[0-9]{1,19}$/.test(seed) ? seed : "0", schedule: null };
  try {
    choice.schedule = JSON.parse(words.get("schedule"));
  } catch {
    choice.schedule = words.get("schedule"); // the engine says what is wrong
  }
}

// addressOf is the page's address for a state.
function addressOf(state) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (value) words.set(name, name === "schedule" ? JSON.stringify(value) : value);
  }
  return `#${words}`;
}

const addressOfRun = ({ id }, { base, design, seed }) => addressOf({ chapter: id, base, design, seed });
const scenario = () => all.scenarios.find((s) => s.name.toLowerCase() === choice.base.toLowerCase());
const designs = () => scenario()?.designs ?? all.designs;

// choose changes the choice and plays it.
function choose(change) {
  choice = { ...choice, ...change };
  if (!designs().some((d) => d.name === choice.design)) choice.design = (designs().find((d) => d.name === "default") ?? designs()[0]).name;
  history.replaceState(null, "", addressOf({ chapter: chapter?.id, tour: step, ...choice }));
  showChoice();
  return update();
}

// update plays the choice, and then the same faults with other locks. A newer run ends it.
async function update() {
  main.classList.add("stale");
  try {
    run = await play(choice);
    main.classList.remove("stale");
    $("error").textContent = "";
    showRun();
    await compare();
  } catch (error) {
    if (!(error instanceof Superseded)) showError(/no scenario/.test(error.message) ? `There is no scenario “${choice.base}”. Choose one from the list.` : error.message);
  }
}

async function compare() {
  for (const item of $("side").children) {
    if (item.hidden) continue;
    const [button, verdict, picture] = item.querySelectorAll("button, span, div");
    const design = button.textContent;
    try {
      const other = design === choice.design ? run : await play({ ...choice, design });
      verdict.textContent = other.verdict === "none" ? verdictOf(other) : other.verdict;
      picture.innerHTML = other.svg;
      item.className = classOf(other);
    } catch (error) {
      if (error instanceof Superseded) throw error;
      verdict.textContent = error.message; // such as a replica that this lock doesn't have
    }
  }
}

function showError(text) {
  $("error").textContent = text;
  $("verdict").textContent = "This can’t be played";
  $("verdict").className = "";
  $("expected").textContent = "";
}

function showChoice() {
  $("base").value = scenario()?.name ?? choice.base;
  $("design").replaceChildren(...options(designs().map((d) => [d.name, `${d.name}: ${d.title}`]), choice.design));
  $("seed").value = choice.seed;
  $("reset").disabled = choice.schedule === null;
  if (chapter !== chapterShown) showChapter();
  for (const link of document.querySelectorAll("#chapters a, #chapter-text a.button")) {
    link.ariaCurrent = link.hash === location.hash || (chapter && link.parentNode.dataset.id === chapter.id) ? "true" : null;
  }
  showStep(tour[step - 1]);
}

function showChapter() {
  chapterShown = chapter;
  $("chapter").hidden = !chapter;
  if (!chapter) return;
  $("chapter-title").textContent = chapter.title;
  $("chapter-text").replaceChildren(
    element("p", {}, element("strong", {}, "Who is right: "), `${chapter.right}.`), element("p", {}, chapter.verdict),
    element("p", { class: "tools" }, element("span", {}, "Play:"), ...chapter.runs.map((r) => element("a", { class: "button", href: addressOfRun(chapter, r) }, `${r.base} with ${r.design}`))),
    element("p", {}, element("a", { href: `https://github.com/redquorum/redlock/blob/main/docs/debate.md#${chapter.id}`, rel: "noreferrer" }, "What both sides say")));
}

function showStep(shown) {
  document.body.classList.toggle("touring", Boolean(shown) && !shown.free);
  $("tour").hidden = !shown;
  if (!shown) return;
  $("tour-title").textContent = `Tour, step ${step} of ${tour.length}: ${shown.title}`;
  $("tour-text").textContent = shown.text;
  $("slide").hidden = !shown.slide;
  $("tour-back").hidden = step === 1;
  $("tour-next").hidden = step === tour.length;
  $("tour-back").href = `#tour=${step - 1}`;
  $("tour-next").href = `#tour=${step + 1}`;
}

const verdictOf = (of) => (of.verdict !== "none" ? `Violated: ${of.verdict}` : of.nobody ? "Nothing went wrong; nobody got the lock" : "Nothing went wrong");
const classOf = (of) => (of.verdict !== "none" ? "bad" : of.nobody ? "" : "good");

// expectedOf is the expected result in a sentence. That of random faults is about many runs, and this is one.
function expectedOf(of) {
  if (choice.schedule !== null) return "Your own faults: no expected result.";
  if (of.unexpected) return `Not as expected: ${of.unexpected}.`;
  return of.expected === of.verdict ? "As expected." : `Expected: ${of.expected}.`;
}

// clock writes a moment in milliseconds, to the microsecond: "11 104.506 ms".
const clock = (ns) => `${(ns / 1e6).toLocaleString("en", { minimumFractionDigits: 3, maximumFractionDigits: 3 }).replaceAll(",", "\u202f")} ms`;

function showRun() {
  $("verdict").textContent = verdictOf(run);
  $("verdict").className = classOf(run);
  $("expected").textContent = expectedOf(run);
  $("timeline").innerHTML = run.svg;
  $("legend").replaceChildren(...run.legend.map((text) => element("li", {}, text)));
  $("events").replaceChildren(...run.steps.map((s) => element("li", { class: s.alarm ? "alarm" : s.fault ? "fault" : "" }, element("time", {}, clock(s.at)), element("span", {}, s.text))));
  $("command").textContent = `go run ./simulation/cmd/redlocksim ${run.arguments}`;
  $("hash").textContent = run.hash;
  for (const item of $("side").children) {
    const name = item.querySelector("button").textContent;
    item.hidden = !designs().some((d) => d.name === name);
    item.className = "";
    item.querySelector("span").textContent = "…";
    item.querySelector("div").replaceChildren();
    item.querySelector("button").ariaPressed = name === choice.design;
  }
  const pause = run.schedule[0]?.for_ns;
  if (pause && document.activeElement !== $("pause")) $("pause").value = pause / 1e9;
  $("pause-length").textContent = pause ? `${pause / 1e9} s` : "";
  showFaults();
}

// showFaults shows each fault as a row of fields. The field with the focus keeps it.
function showFaults() {
  const focus = document.activeElement?.closest("#faults") && document.activeElement.name;
  $("faults").replaceChildren(...run.schedule.map((_, i) => faultRow(run, i, all.kinds, (fault) => choose({ schedule: run.schedule.toSpliced(i, 1, ...(fault ? [fault] : [])) }))));
  if (run.schedule.length === 0) $("faults").append(element("li", {}, "None."));
  if (focus) $("faults").querySelector(`[name="${focus}"]`)?.focus({ preventScroll: true });
}

// follow shows what the address says. The reader has followed a link to a step or a chapter, and reads on there.
function follow() {
  const [before, chapterBefore] = [step, chapter];
  readAddress();
  choose({});
  if (step && step !== before) $("tour-title").focus();
  else if (chapter && chapter !== chapterBefore) $("chapter-title").focus();
}

async function start() {
  const response = await fetch("contents.json");
  if (!response.ok) throw new Error(`contents.json: ${response.status}`);
  all = await response.json();
  const listed = (list) => options(list.map((of) => [of.name, `${of.name}: ${of.title}`]));
  $("base").append(element("optgroup", { label: "scenarios" }, ...listed(all.scenarios)), element("optgroup", { label: "random faults" }, ...listed(all.faults)));
  $("signs").append(...all.signs.map((text) => element("li", {}, text)));
  $("add-kind").append(...options(kindOptions(all.kinds)));
  $("chapters").append(...chapters.map((c) => element("li", { "data-id": c.id }, element("a", { href: addressOfRun(c, c.runs[0]) }, c.title))));
  $("side").append(...compared.map((name) => element("li", {}, element("button", { type: "button", onclick: () => choose({ design: name }) }, name),
    element("small", {}, all.designs.find((d) => d.name === name).title), element("span"), element("div"))));
  $("base").onchange = () => {
    [chapter, step] = [undefined, 0];
    choose({ base: $("base").value, schedule: null });
  };
  $("design").onchange = () => choose({ design: $("design").value });
  $("seed").onchange = () => $("seed").reportValidity() && choose({ seed: $("seed").value || "0" });
  $("choice").onsubmit = (event) => event.preventDefault();
  $("reset").onclick = () => choose({ schedule: null });
  $("clear").onclick = () => choose({ schedule: [] });
  $("add").onsubmit = (event) => {
    event.preventDefault();
    if (run) choose({ schedule: [...run.schedule, ofKind(all.kinds.find((k) => k.kind === $("add-kind").value), run, { nth: 1, op: "write" })] });
  };
  $("pause").oninput = () => {
    choice.schedule = [{ ...run.schedule[0], for_ns: $("pause").valueAsNumber * 1e9 }];
    update();
  };
  $("pause").onchange = () => choose({}); // browsers limit how often a page may change its address
  $("tour-end").onclick = () => {
    step = 0;
    choose({});
    $("tour-link").focus();
  };
  window.onhashchange = follow;
  readAddress();
  choose({});
}

start().catch((error) => showError(`The page can’t be loaded: ${error.message}`));
