// Making elements. Text is only ever set as text: a prompt may hold anything.

/** An element with attributes (on… for listeners; false and null for none) and children or texts. */
export function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false || value === undefined) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** The element of this id. */
export const the = (id) => document.getElementById(id);

/** A keycap. Screen readers leave it out: they have names and shortcuts of their own. */
export const keycap = (key) => make("kbd", { "aria-hidden": "true" }, key);

/** "1 answer", "3 answers". */
export const count = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

/** A number as people write it. */
export const plain = (value) => String(Number(Number(value).toFixed(6)));
