// Making elements, and numbers as people read them. Text is only ever set as text: a prompt may hold anything.

/** The element of this id. */
export const the = (id) => document.getElementById(id);

/** An element with attributes (on… for listeners, data for its dataset; null, undefined and false for none) and
 *  children: elements, texts or lists of them; null, undefined and "" for none. */
export function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(made.dataset, value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

/** Build the inside of an element again only when what it shows has changed, and give the focus back. */
export function refresh(element, shown, build) {
  const state = JSON.stringify(shown);
  if (element.dataset.shown === state) return;
  const held = element.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  const opened = new Set([...element.querySelectorAll("details[open][data-key]")].map((each) => each.dataset.key));
  element.replaceChildren(...[build()].flat());
  element.dataset.shown = state;
  for (const each of element.querySelectorAll("details[data-key]")) each.open = opened.has(each.dataset.key);
  if (held) [...element.querySelectorAll("[data-key]")].find((each) => each.dataset.key === held)?.focus();
}

/** A keycap. Screen readers leave it out: they have names and shortcuts of their own. */
export const keycap = (key) => make("kbd", { "aria-hidden": "true" }, key);

const whole = new Intl.NumberFormat("en");
const minus = (text) => text.replace("-", "−");

/** "1,200"; with a noun, "1 answer", "3 answers". */
export const count = (n, one = "", many = `${one}s`) => (one ? `${whole.format(n)} ${n === 1 ? one : many}` : whole.format(n));
export const percent = (fraction) => `${Math.floor(fraction * 100 + 1e-9)} %`;
export const number = (given, places = 2) => minus(given.toFixed(places));

/** A number without needless digits, as keys and attributes have it; `value` is the same for eyes. */
export const plain = (given) => String(Number(Number(given).toFixed(6)));
export const value = (given) => minus(plain(given));

export function seconds(given) {
  if (given === null) return "–";
  if (given < 90) return `${given < 10 ? number(given, 1) : Math.round(given)} s`;
  return `${Math.floor(given / 60)} min ${Math.round(given % 60)} s`;
}

export function moment(stamp, now = new Date()) {
  const at = new Date(stamp);
  const near = Math.abs(at - now) < 20 * 3600 * 1000;
  return at.toLocaleString([], near ? { hour: "2-digit", minute: "2-digit" } : { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
}

export const day = (stamp) => new Date(stamp).toLocaleDateString([], { day: "numeric", month: "long", year: "numeric" });

/** An estimate: value, interval, n; or a dash that says why there is none. */
export function estimate({ name, value: given, low, high, n, reason }, { percent: asPercent = false } = {}) {
  if (given === null) return make("span", { class: "quiet", title: reason ?? "" }, "–");
  const text = (each) => (asPercent ? String(Math.round(each * 100)) : number(each));
  const parts = [make("span", {}, text(given) + (asPercent ? " %" : ""))];
  if (low !== null && high !== null) {
    parts.push(" ", make("span", { class: "interval" }, `[${text(low)}, ${text(high)}]`));
  }
  parts.push(" ", make("span", { class: "n" }, `n ${count(n)}`));
  return make("span", { title: name }, parts);
}
