// How the page writes times.

const ms = 1e6;

// clock writes a moment in milliseconds, to the microsecond: "11 104.506 ms".
export function clock(ns) {
  const [whole, part] = (Math.round(ns / 1000) / 1000).toFixed(3).split(".");
  return `${whole.replace(/\B(?=(\d{3})+$)/g, "\u202f")}.${part} ms`;
}

// length writes a duration to three digits: "12 s", "1.31 ms".
export function length(ns) {
  const units = [[3600e9, "h"], [60e9, "min"], [1e9, "s"], [ms, "ms"], [1e3, "µs"]];
  const [size, name] = units.find(([size]) => Math.abs(ns) >= size * (size > 1e9 ? 2 : 1)) ?? [1, "ns"];
  return `${Number((ns / size).toPrecision(3))} ${name}`;
}

// element makes an element with attributes and children. Texts are never HTML.
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

// shape is element for SVG.
export function shape(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

// parsed is the SVG of a text, which the engine has made.
export function parsed(svg) {
  return document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}
