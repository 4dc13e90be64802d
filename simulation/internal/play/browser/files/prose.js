// The chapters, which are the debate's text, and the tour. Both only show text: where they lead to
// is an address of the page.
import { element } from "./words.js";

// addressOf is the page's address for a state.
export function addressOf(state) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (value !== null && value !== undefined && value !== "") words.set(name, name === "schedule" ? JSON.stringify(value) : value);
  }
  return `#${words}`;
}

// styled makes the nodes of a paragraph.
function styled(spans) {
  return spans.map(({ style, text, href }) => {
    if (style === "") return text;
    if (style === "link") return element("a", { href, rel: "noreferrer" }, text);
    return element(style, {}, text);
  });
}

// paragraphs makes paragraphs and lists.
function paragraphs(blocks) {
  const nodes = [];
  for (const { item, spans } of blocks) {
    if (!item) nodes.push(element("p", {}, ...styled(spans)));
    else {
      if (nodes.at(-1)?.localName !== "ul") nodes.push(element("ul"));
      nodes.at(-1).append(element("li", {}, ...styled(spans)));
    }
  }
  return nodes;
}

const stateOf = (chapter, run) => ({ chapter: chapter.id, base: run.base, design: run.design, seed: run.seed });

// contents are the links to all chapters.
export function contents(chapters, current) {
  return chapters.map((c) => element("li", {},
    element("a", { href: addressOf(stateOf(c, c.runs[0])), "aria-current": c.id === current ? "true" : null }, c.title)));
}

// chapterNodes shows a chapter: the argument, the verdict, its runs, and an invitation. guarded says
// whether a story can be played with a token at the resource.
export function chapterNodes(chapter, choice, guarded) {
  const link = (run, text) => {
    const here = choice.base === run.base && choice.design === run.design && choice.seed === run.seed && !choice.schedule;
    return element("a", { class: "button", href: addressOf(stateOf(chapter, run)), "aria-current": here ? "true" : null }, text);
  };
  const runs = chapter.runs.map((run) => link(run, `${run.base} with ${run.design}`));
  const guard = chapter.runs.find((run) => guarded(run.base));
  const challenge = guard && link({ ...guard, design: "token-admit" }, "Can you break it with the guard on?");
  return [
    element("p", {}, element("strong", {}, "Who is right: "), `${chapter.right}.`),
    element("div", { class: "sides" },
      element("section", { "aria-labelledby": "claims-title" }, element("h3", { id: "claims-title" }, "What they say"), ...paragraphs(chapter.claims)),
      element("section", { "aria-labelledby": "verdict-text-title" }, element("h3", { id: "verdict-text-title" }, "What the runs say"), ...paragraphs(chapter.verdict))),
    element("p", { class: "tools" }, element("span", {}, "Play:"), ...runs, ...(challenge ? [element("span", {}, "Now you:"), challenge] : [])),
  ];
}

const pause = (ns) => [{ kind: "pause", process: "c1", op: "write", nth: 1, for_ns: ns }];

// tour is for a first reader: each step is a state and what to see there. Four minutes are enough.
export const tour = [
  { title: "A lock that expires", state: { base: "S1", design: "default", schedule: [] },
    text: "Two clients, c1 and c2, share a lock, whose key is on five servers, A to E. In a client’s lane the upper bar is what the client believes, and the lower one is what is true on the servers. The squares at the resource are writes. Nothing goes wrong here: c2 asks when c1 has finished." },
  { title: "The holder is paused", state: { base: "S1", design: "default" },
    text: "Now c1 stops for 12 seconds, after it has checked its lease and before its write: the striped bar. Its lease ends, c2 gets the lock and writes. Then c1 wakes up and writes over it. The red lines are where the checks find that something is violated." },
  { title: "How long is too long?", state: { base: "S1", design: "default", schedule: pause(6e9) },
    text: "The same pause, but of 6 seconds: the lease outlives it, and nothing is violated. Drag the end of the striped bar to the right until it breaks. Each change is a new run of the library’s real code. The list below the timeline has every event in words." },
  { title: "A token at the resource", state: { base: "S1", design: "token-admit" },
    text: "12 seconds again, but each lease has a number, and the resource refuses a number below one that it has seen. The late write has a cross: refused. Look at “Side by side”: one Redis, Redlock and this library without the token all break, so this isn’t about Redlock. It is Kleppmann’s main argument, and antirez agrees about the pause." },
  { title: "A pause before the replies", state: { base: "S3", design: "default" },
    text: "Kleppmann’s other pause hits c1 while the servers’ replies are in flight. Here antirez is right: c1 looks at the clock again after the replies, sees that too much time has passed, and gives up." },
  { title: "A clock that jumps", state: { base: "S4", design: "redlock" },
    text: "Redlock, as the Redis document has it. The clock of server C jumps forward, so C forgets c1’s key. Then c2 gets C and two others: two holders. Both authors agree that this breaks it." },
  { title: "A client can notice", state: { base: "S4", design: "default" },
    text: "The same jump, with this library. It compares each server’s clock with its own, and ignores the vote of a server whose clock has jumped until every lease that it may have forgotten has expired." },
  { title: "A server that forgets", state: { base: "S7", design: "redlock" },
    text: "A server crashes and comes back without its data. It votes for c2, although it had voted for c1. Choose the lock “default”: the library lets a server that has just started wait before it votes." },
  { title: "Now you", state: { base: "S1", design: "token-admit", schedule: [] },
    text: "No faults, and a token at the resource. Drag faults from the list onto the lanes, and try to break it. Or let the page search: “Challenge”, below. There is a fault against which a token doesn’t help, and a lock that survives it. The chapters above have the rest of the debate." },
];
