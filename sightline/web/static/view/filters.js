// The filter panel, made from what the study holds: check lists for categories, histograms for numbers.

import { count, make, the } from "../shared/elements.js";
import { histogram } from "./histogram.js";
import { GROUPS, STATES, rangeWords } from "./words.js";
import { range } from "./state.js";

const LONG = 8;
const MANY = 12;

export class Filters {
  /** `change` is called with what a filter changes of the state, which `now` gives: counts come later than clicks. */
  constructor(change, now) {
    this.change = change;
    this.now = now;
    this.opened = new Set(["system"]);
    this.typed = new Map();
    this.find = make("input", { type: "search", id: "find-filter", placeholder: "Find a filter", "aria-label": "Find a filter", autocomplete: "off" });
    this.find.addEventListener("input", () => this.narrow());
    this.list = make("div", { class: "filters" });
    the("filters").replaceChildren(this.find, this.list);
  }

  /** Show the fields as they are for a state. */
  show(state, study, fields) {
    this.state = state;
    const held = this.list.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    // Counted like every other filter: over what the others leave.
    const counted = fields.find(({ id }) => id === "system")?.values;
    const of = (name, all) => (counted ? counted.find(({ value }) => value === name)?.n ?? 0 : all);
    const parts = [
      this.section("system", "System", state.system.length ? `${state.system.length} of ${study.systems.length}` : "",
        () => this.checks("system", study.systems.map(({ name, n }) => ({ value: name, n: of(name, n) })), state.system, (choose) => this.change({ system: choose(this.now().system) }))),
      this.section("is", "State", state.is.length ? String(state.is.length) : "",
        () => this.checks("is", STATES.map(([value, label]) => ({ value, label })), state.is, (choose) => this.change({ is: choose(this.now().is) }))),
    ];
    for (const [group, title] of Object.entries(GROUPS)) {
      const members = fields.filter((field) => field.group === group && field.id !== "system");
      if (members.length) parts.push(make("h2", { class: "group-title" }, title), ...members.map((field) => this.field(field)));
    }
    this.list.replaceChildren(...parts);
    this.find.hidden = fields.length < MANY;
    this.narrow();
    if (held) [...this.list.querySelectorAll("[data-key]")].find((each) => each.dataset.key === held)?.focus();
  }

  section(id, label, chosen, build) {
    const body = make("div", { class: "body" });
    const details = make("details", { class: "filter", data: { id, label: label.toLowerCase() } },
      make("summary", { data: { key: `summary-${id}` } }, make("span", { class: "label", title: label }, label), make("span", { class: "chosen" }, chosen)), body);
    details.open = this.opened.has(id);
    const fill = () => { if (details.open && !body.firstChild) body.append(...[build()].flat()); };
    details.addEventListener("toggle", () => {
      if (details.open) this.opened.add(id);
      else this.opened.delete(id);
      fill();
    });
    fill();
    return details;
  }

  field(field) {
    const chosen = this.state.fields[field.id] ?? [];
    const change = (choose) => {
      const { [field.id]: held = [], ...others } = this.now().fields;
      const values = choose(held);
      this.change({ fields: values.length ? { ...others, [field.id]: values } : others });
    };
    if (field.type === "number") {
      const said = chosen.length ? rangeWords(range(chosen[0])) : "";
      return this.section(field.id, field.label, said, () => histogram(field, chosen[0], (text) => change(() => (text ? [text] : [])), this.state));
    }
    return this.section(field.id, field.label, chosen.length ? String(chosen.length) : "", () => this.checks(field.id, field.values, chosen, change, field.more));
  }

  checks(id, values, chosen, change, more = 0) {
    if (!values) return [make("p", { class: "quiet" }, "Loading …")];
    const known = new Set(values.map(({ value }) => value));
    // What an address asks for stays in the list, even where no row has it.
    const all = [...chosen.filter((value) => !known.has(value)).map((value) => ({ value, n: 0 })), ...values];
    const items = all.map(({ value, label, n }) => {
      const box = make("input", { type: "checkbox", value, data: { key: `${id}=${value}` } });
      box.checked = chosen.includes(value);
      box.addEventListener("change", () => change((held) => (box.checked ? [...held, value] : held.filter((each) => each !== value))));
      return make("label", { class: "choice" }, box, label ?? value ? make("bdi", {}, label ?? value) : make("i", {}, "no value"), n === undefined ? "" : make("span", { class: "n" }, count(n)));
    });
    const list = make("div", { class: "checks", role: "group", "aria-label": "Values" }, items);
    const rest = more ? make("p", { class: "quiet" }, `${count(more)} rarer values are not listed.`) : "";
    if (!all.length) return [make("p", { class: "quiet" }, "There are no values.")];
    if (all.length <= LONG) return [list, rest].filter(Boolean);
    const find = make("input", { type: "search", "aria-label": "Find a value", placeholder: `Find among ${count(all.length)}`, data: { key: `find-${id}` }, autocomplete: "off" });
    find.value = this.typed.get(id) ?? "";
    const narrow = () => {
      this.typed.set(id, find.value);
      const words = find.value.trim().toLowerCase();
      for (const item of items) item.hidden = !item.textContent.toLowerCase().includes(words);
    };
    find.addEventListener("input", narrow);
    narrow();
    return [find, list, rest].filter(Boolean);
  }

  /** Show the filters whose name holds what was typed. */
  narrow() {
    const words = this.find.value.trim().toLowerCase();
    let title = null;
    for (const each of this.list.children) {
      if (each.matches("h2")) {
        title = each;
        title.hidden = Boolean(words);
      } else {
        each.hidden = !each.dataset.label.includes(words);
        if (!each.hidden && title) title.hidden = false;
      }
    }
  }
}
