// What the page shows is its address: whoever gets the address sees the same.

const ONE = ["q", "sort", "layout", "a", "b", "open", "size", "side", "chart", "zoom", "at", "blind"];
const MANY = ["system", "is", "show"];
// What changes how rows look on this page, not which rows there are.
const PAGE_ONLY = new Set(["open", "size", "side", "chart", "zoom", "at", "blind"]);
const FIELD = "f.";
export const NONE = "none";

/** The state that a query string stands for; what it does not know it leaves out. */
export function parse(query) {
  const given = new URLSearchParams(query);
  const state = { fields: {} };
  for (const name of ONE) state[name] = given.get(name) ?? "";
  for (const name of MANY) state[name] = [...new Set(given.getAll(name))];
  for (const [name, value] of given) {
    if (name.startsWith(FIELD)) (state.fields[name.slice(FIELD.length)] ??= []).push(value);
  }
  return state;
}

/** The query string of a state, always in the same order. `keep` says which parameters to put in. */
export function format(state, keep = () => true) {
  const query = new URLSearchParams();
  // Of a category, an empty value stands for rows without one.
  const add = (name, value) => { if ((value || name.startsWith(FIELD)) && keep(name)) query.append(name, value); };
  add("q", state.q);
  for (const name of ["system", "is"]) for (const value of state[name]) add(name, value);
  for (const [field, values] of Object.entries(state.fields)) for (const value of values) add(FIELD + field, value);
  add("sort", state.sort);
  for (const name of ["layout", "a", "b"]) add(name, state[name]);
  for (const value of state.show) add("show", value);
  for (const name of ["size", "chart", "side", "blind", "open", "zoom", "at"]) add(name, state[name]);
  return query.toString();
}

/** The part of a state that the server reads. */
export const asked = (state) => format(state, (name) => !PAGE_ONLY.has(name));

/** The part of a state that says which rows there are: the same for rows that look or are sorted differently. */
export const matching = (state) => format(state, (name) => name === "q" || name === "system" || name === "is" || name.startsWith(FIELD));

export const isFiltered = (state) => matching(state) !== "";

/** A range as it stands in an address: "0.2..0.8", either end may be absent; "0.5" is one value, "none" is no value. */
export function range(text) {
  const [low, high = low] = (text ?? "").split("..");
  const end = (given) => (given === undefined || given.trim() === "" || Number.isNaN(Number(given)) ? null : Number(given));
  return { low: end(low), high: end(high), none: text === NONE };
}

export const rangeText = ({ low, high }) => (low === null && high === null ? "" : `${low ?? ""}..${high ?? ""}`);

/** The state of the page, its address and the history of both. */
export class Address {
  constructor(onChange) {
    this.state = parse(location.search);
    this.onChange = onChange;
    addEventListener("popstate", () => {
      const before = this.state;
      this.state = parse(location.search);
      this.onChange(this.state, before, "back");
    });
  }

  /** Go to a changed state: a step that the back button undoes, unless `replace`. */
  go(changes, { replace = false } = {}) {
    const before = this.state;
    const after = { ...before, ...changes };
    const [from, to] = [format(before), format(after)];
    if (from === to) return;
    this.state = after;
    const where = to ? `${location.pathname}?${to}` : location.pathname;
    if (replace) history.replaceState(history.state, "", where);
    else history.pushState({ ours: true }, "", where);
    this.onChange(after, before, replace ? "replace" : "go");
  }

  /** Note something that is no step of its own (where one has scrolled to), without telling anyone. */
  note(changes) {
    this.state = { ...this.state, ...changes };
    const query = format(this.state);
    history.replaceState(history.state, "", query ? `${location.pathname}?${query}` : location.pathname);
  }

  /** The address of a changed state, for a link. */
  link(changes) {
    return `${location.pathname}?${format({ ...this.state, at: "", ...changes })}`;
  }
}
