// Making elements, and numbers as people read them. Text is always text, never markup.

export const $ = (id) => document.getElementById(id);

export function make(name, values = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(values)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class") element.className = value;
    else if (key === "data") Object.assign(element.dataset, value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

// Builds the inside of an element again only when what it shows has changed, and gives the focus back.
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

const whole = new Intl.NumberFormat("en");
export const count = (number) => whole.format(number);
export const several = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
export const percent = (fraction) => `${Math.floor(fraction * 100 + 1e-9)} %`;
const fixed = (number, places) => number.toFixed(places).replace("-", "−");

export const number = (given, places = 2) => fixed(given, places);

export function value(given) {
  return String(Math.round(given * 1e6) / 1e6).replace("-", "−");
}

export function seconds(given) {
  if (given === null) return "–";
  if (given < 90) return `${given < 10 ? fixed(given, 1) : Math.round(given)} s`;
  return `${Math.floor(given / 60)} min ${Math.round(given % 60)} s`;
}

export function moment(stamp, now = new Date()) {
  const at = new Date(stamp);
  const near = Math.abs(at - now) < 20 * 3600 * 1000;
  return at.toLocaleString([], near ? { hour: "2-digit", minute: "2-digit" } : { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
}

export const day = (stamp) => new Date(stamp).toLocaleDateString([], { day: "numeric", month: "long", year: "numeric" });

// An estimate: value, interval, n; or a dash that says why there is none.
export function estimate({ name, value, low, high, n, reason }, { percent: asPercent = false } = {}) {
  if (value === null) return make("span", { class: "quiet", title: reason ?? "" }, "–");
  const text = (given) => (asPercent ? String(Math.round(given * 100)) : fixed(given, 2));
  const parts = [make("span", {}, text(value) + (asPercent ? " %" : ""))];
  if (low !== null && high !== null) {
    parts.push(" ", make("span", { class: "interval" }, `[${text(low)}, ${text(high)}]`));
  }
  parts.push(" ", make("span", { class: "n" }, `n ${count(n)}`));
  return make("span", { title: name }, parts);
}
