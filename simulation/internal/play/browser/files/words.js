// How the page writes times and makes elements.

// clock writes a moment in milliseconds, to the microsecond: "11 104.506 ms".
export function clock(ns) {
  const [whole, part] = (Math.round(ns / 1000) / 1000).toFixed(3).split(".");
  return `${whole.replace(/\B(?=(\d{3})+$)/g, "\u202f")}.${part} ms`;
}

// element makes an element with attributes and children. Texts are never HTML.
export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// parsed is the SVG of a text, which the engine has made.
export function parsed(svg) {
  return document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true);
}
