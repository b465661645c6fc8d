// The filters at work, each a button that removes it.

import { make } from "../shared/elements.js";
import { isFiltered, range } from "./state.js";
import { STATES, rangeWords } from "./words.js";

export function chips(state, fieldOf, change) {
  const made = [];
  const chip = (words, changes) => made.push(make("button", { type: "button", class: "chip", "aria-label": `Remove the filter: ${words}`, onclick: () => change(changes) },
    make("bdi", {}, words), make("span", { "aria-hidden": "true" }, "×")));
  if (state.q) chip(`“${state.q}”`, { q: "" });
  for (const name of state.system) chip(name, { system: state.system.filter((each) => each !== name) });
  for (const value of state.is) {
    const label = STATES.find(([each]) => each === value)?.[1] ?? value;
    chip(label, { is: state.is.filter((each) => each !== value) });
  }
  for (const [id, values] of Object.entries(state.fields)) {
    const field = fieldOf(id);
    const without = (value) => {
      const left = values.filter((each) => each !== value);
      const { [id]: _, ...others } = state.fields;
      return { fields: left.length ? { ...others, [id]: left } : others };
    };
    for (const value of values) {
      const words = field.type === "number" ? rangeWords(range(value)) : value || "no value";
      chip(`${field.label}: ${words}`, without(value));
    }
  }
  if (isFiltered(state)) {
    made.push(make("button", { type: "button", class: "link", onclick: () => change({ q: "", system: [], is: [], fields: {} }) }, "Clear all"));
  }
  return made;
}
