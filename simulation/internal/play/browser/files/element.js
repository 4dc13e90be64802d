// element makes an element with attributes and children. Texts are never HTML.
export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// options are those of a select. Each is a value and its text.
export const options = (list, chosen) => list.map(([value, text]) => element("option", { value, selected: value === chosen }, text));
