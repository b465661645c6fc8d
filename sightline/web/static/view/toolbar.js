// The controls above the board: search, layout, order, values, size.

import { make, the } from "../shared/elements.js";
import { GROUPS } from "./words.js";

const PAUSE = 250;

export class Toolbar {
  constructor(page) {
    this.page = page;
    const search = the("search");
    search.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.searched(), PAUSE);
    });
    search.addEventListener("change", () => this.searched());
    search.addEventListener("blur", () => { this.began = false; });
    for (const button of document.querySelectorAll("#layouts button")) button.addEventListener("click", () => this.layout(button.value));
    for (const button of document.querySelectorAll("#sizes button")) button.addEventListener("click", () => page.go({ size: button.value }, { replace: true }));
    the("sort").addEventListener("change", () => page.change({ sort: the("sort").value === "prompt" ? "" : the("sort").value }));
    the("turn").addEventListener("click", () => this.turn());
    for (const which of ["a", "b"]) the(`pair-${which}`).addEventListener("change", () => page.change({ [which]: the(`pair-${which}`).value }));
    the("swap").addEventListener("click", () => page.change({ a: page.state.b, b: page.state.a }));
    the("verdicts").addEventListener("click", () => page.toggleVerdicts());
    the("find-value").addEventListener("input", () => this.narrow());
  }

  /** A step back: what was being typed is no search any more, and the next search is a step of its own. */
  forget() {
    clearTimeout(this.typing);
    this.typing = null;
    this.began = false;
  }

  /** One step back undoes a whole search, however many letters it took. */
  searched() {
    clearTimeout(this.typing);
    this.typing = null;
    const q = the("search").value.trim();
    if (q === this.page.state.q) return;
    this.page.change({ q }, { replace: this.began });
    this.began = document.activeElement === the("search");
  }

  layout(layout) {
    const { study, state } = this.page;
    const [first, second] = state.system.length > 1 ? state.system : study.systems.map(({ name }) => name);
    const pair = layout === "pair" ? { a: state.a || first, b: state.b || second } : { a: "", b: "" };
    this.page.change({ layout: layout === "grid" ? "" : layout, ...pair });
  }

  turn() {
    const { sort } = this.page.state;
    this.page.change({ sort: sort.startsWith("-") ? sort.slice(1) : `-${sort}` });
  }

  show(state, study, fields) {
    // What comes in meanwhile must not take away letters that are being typed, nor the space after a word.
    if (!this.typing && (document.activeElement !== the("search") || state.q !== the("search").value.trim())) the("search").value = state.q;
    for (const button of document.querySelectorAll("#layouts button")) {
      button.setAttribute("aria-pressed", String(button.value === (state.layout || "grid")));
      button.disabled = button.value === "pair" && study.systems.length < 2;
    }
    for (const button of document.querySelectorAll("#sizes button")) button.setAttribute("aria-pressed", String(button.value === (state.size || "m")));
    the("verdicts").hidden = !study.verdict;
    the("verdicts").setAttribute("aria-pressed", String(state.show.includes(study.verdict)));
    this.order(state, fields);
    this.pair(state, study);
    this.values(state, fields);
  }

  order(state, fields) {
    const by = state.sort.replace(/^-/, "") || "prompt";
    const options = (list) => list.map(({ id, label }) => make("option", { value: id, selected: id === by }, label));
    const known = new Set(["prompt", "random", ...fields.map(({ id }) => id)]);
    the("sort").replaceChildren(
      ...options([{ id: "prompt", label: "Prompt" }, { id: "random", label: "Random" }]),
      ...Object.entries(GROUPS).map(([group, title]) => make("optgroup", { label: title }, options(fields.filter((field) => field.group === group)))).filter((group) => group.children.length),
      ...(known.has(by) ? [] : options([{ id: by, label: by }])),
    );
    const turns = !["prompt", "random"].includes(by);
    const down = state.sort.startsWith("-");
    the("turn").hidden = !turns;
    the("turn").textContent = down ? "↓" : "↑";
    the("turn").setAttribute("aria-label", down ? "Highest first. Turn the order round" : "Lowest first. Turn the order round");
    the("turn").title = down ? "Highest first" : "Lowest first";
  }

  pair(state, study) {
    the("pair").hidden = state.layout !== "pair";
    for (const which of ["a", "b"]) {
      the(`pair-${which}`).replaceChildren(...study.systems.map(({ name }) => make("option", { value: name, selected: name === state[which] }, name)));
    }
  }

  values(state, fields) {
    const held = the("values-list").contains(document.activeElement) ? document.activeElement.value : null;
    the("values-list").replaceChildren(...fields.map((field) => {
      const box = make("input", { type: "checkbox", value: field.id });
      box.checked = state.show.includes(field.id);
      box.addEventListener("change", () => this.page.change({ show: box.checked ? [...this.page.state.show, field.id] : this.page.state.show.filter((id) => id !== field.id) }, { stay: true }));
      return make("label", { class: "choice" }, box, make("bdi", {}, field.label));
    }));
    the("values-none").hidden = fields.length > 0;
    the("values-count").textContent = state.show.length ? String(state.show.length) : "";
    this.narrow();
    if (held) [...the("values-list").querySelectorAll("input")].find(({ value }) => value === held)?.focus();
  }

  narrow() {
    const words = the("find-value").value.trim().toLowerCase();
    for (const item of the("values-list").children) item.hidden = !item.textContent.toLowerCase().includes(words);
  }
}
