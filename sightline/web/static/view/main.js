// The explorer: what the address says is fetched and shown; what people do changes the address.

import { get, post, Unreachable, words } from "../shared/api.js";
import { say } from "../shared/dialogs.js";
import { count, make, the } from "../shared/elements.js";
import { Actions } from "./actions.js";
import { Board } from "./board.js";
import { chart } from "./chart.js";
import { chips } from "./chips.js";
import { Detail } from "./detail.js";
import { Filters } from "./filters.js";
import { listen, listKeys } from "./keys.js";
import { Rows } from "./rows.js";
import { Selection } from "./selection.js";
import { Address, isFiltered, matching, parse } from "./state.js";
import { Thumbnails } from "./thumbnails.js";
import { Toolbar } from "./toolbar.js";
import { images } from "./words.js";

const AGAIN = 2_000;
const WIDE = matchMedia("(min-width: 48rem)");
const PLACES = { grid: (n) => images(n), prompts: (n) => count(n, "prompt"), pair: (n) => count(n, "pair") };

class Page {
  constructor() {
    this.address = new Address((state, before, how) => {
      if (how === "back") this.toolbar.forget();
      this.show(how);
    });
    this.fields = [];
    this.rows = new Rows(() => this.arrived(), (problem) => this.failed(problem));
    this.selection = new Selection(() => this.selected());
    this.board = new Board({
      port: the("port"), area: the("board"), rows: this.rows, thumbnails: new Thumbnails(), selection: this.selection,
      open: (row) => this.open(row), scrolled: () => this.scrolled(),
    });
    this.selection.board = this.board;
    this.filters = new Filters((changes) => this.change(changes), () => this.state);
    this.toolbar = new Toolbar(this);
    this.actions = new Actions(this.selection, this);
    this.detail = new Detail(this.address, {
      go: (changes) => this.go(changes, { replace: true }),
      close: () => this.close(),
      filter: (changes) => this.change({ q: "", system: [], is: [], fields: {}, open: "", side: "", zoom: "", layout: "", a: "", b: "", ...changes }),
      fieldOf: (id) => this.fieldOf(id),
      blindDefault: () => this.study.blind_default,
      select: (row) => { if (row) this.pick(row); },
      selectable: (row) => this.mark(row),
      correct: (row) => this.correct(row),
    });
    the("detail-select").addEventListener("click", () => this.pick(this.detail.detail.row));
    the("filters-open").addEventListener("click", () => this.openFilters());
    the("filters-close").addEventListener("click", () => this.closeFilters());
    the("filters-done").addEventListener("click", () => this.closeFilters());
    the("keys-open").addEventListener("click", () => the("keys").showModal());
    the("chart-hide").addEventListener("click", () => this.go({ chart: "none" }));
    the("chart-open").addEventListener("click", () => this.go({ chart: this.chartField("auto") }));
    the("chart-by").addEventListener("change", () => this.go({ chart: the("chart-by").value }));
    listKeys();
    listen(this);
  }

  get state() {
    return this.address.state;
  }

  /** The state as a grid would have it: of a pair, the images of both systems. */
  get seen() {
    const { state } = this;
    return state.layout === "pair" ? { ...state, system: [state.a, state.b] } : state;
  }

  get total() {
    return this.state.layout ? null : this.rows.total;
  }

  async start() {
    try {
      this.study = await get("/api/view/study");
    } catch (problem) {
      this.failed(problem);
      return;
    }
    const sorted = this.study.systems.map(({ name }) => name).sort();
    this.colour = (system) => (sorted.length > 6 || !system ? 0 : sorted.indexOf(system) + 1);
    the("app").hidden = false;
    this.show("back");
  }

  go(changes, how) {
    this.address.go(changes, how);
  }

  /** Change which rows there are, or their order: from the top again, unless they only look different. */
  change(changes, { stay = false, ...how } = {}) {
    this.go(stay ? changes : { at: "", ...changes }, how);
  }

  fieldOf(id) {
    return this.fields.find((field) => field.id === id) ?? { id, label: id, type: (this.state.fields[id]?.[0] ?? "").includes("..") ? "number" : "category", values: [] };
  }

  /** Show the state of the address. */
  show(how) {
    if (!this.study) return;
    const { state } = this;
    this.came = how;
    document.title = [state.q, this.study.name, "explorer"].filter(Boolean).join(" · ");
    this.toolbar.show(state, this.study, this.fields);
    the("chips").replaceChildren(...chips(state, (id) => this.fieldOf(id), (changes) => this.change(changes)));
    if (this.rows.follow(state)) {
      this.waits(true);
      const at = Number(state.at) || 0;
      this.rows.want(at, at);
    } else {
      this.draw();
      if (how === "back") this.restore();
    }
    this.fetchFields();
    this.fetchChart();
    this.detail.show(state);
    if (!state.open && this.viewed) this.returned();
  }

  waits(on) {
    the("port").setAttribute("aria-busy", String(on));
    // Of two changes at once the first must not speak up after the second has been answered.
    clearTimeout(this.slow);
    if (on) this.slow = setTimeout(() => { the("count").textContent = "Loading …"; }, 200);
  }

  shownFields() {
    const { state } = this;
    const sort = state.sort.replace(/^-/, "");
    const ids = ["", "prompt", "random"].includes(sort) || state.show.includes(sort) ? state.show : [sort, ...state.show];
    return ids.map((id) => this.fieldOf(id));
  }

  /** Rows have come. */
  arrived() {
    this.connected();
    const first = the("port").getAttribute("aria-busy") === "true";
    this.waits(false);
    this.draw();
    if (first) {
      if (Number(this.state.at)) this.restore();
      else the("port").scrollTop = 0;
      if (this.came !== "back" && this.came !== "replace") this.board.current = { item: 0, part: 0 };
    }
  }

  draw() {
    if (this.rows.total === null) return;
    const { state, rows } = this;
    const layout = state.layout || "grid";
    const total = PLACES[layout]?.(rows.total) ?? images(rows.total);
    the("count").textContent = layout === "grid" && isFiltered(state) ? `${count(rows.total)} of ${images(this.study.rows)}` : total;
    the("filters-done").textContent = `Show ${total}`;
    the("empty").hidden = rows.total > 0;
    if (!rows.total) the("empty").replaceChildren(...this.nothing());
    this.board.show(state, this.shownFields(), this.colour);
    this.actions.show();
  }

  nothing() {
    if (!this.study.rows) return [make("h2", {}, "This study holds no images yet"), make("p", {}, "Import answers with ", make("code", {}, "sightline import"), ", or make some with ", make("code", {}, "sightline generate"), ", then open this page again.")];
    return [make("h2", {}, "Nothing matches"), make("p", {}, "No image passes all of these filters."),
      make("p", {}, make("button", { type: "button", class: "plain", onclick: () => this.change({ q: "", system: [], is: [], fields: {} }) }, "Clear all filters"))];
  }

  restore() {
    this.board.goTo(Number(this.state.at) || 0);
  }

  scrolled() {
    if (this.rows.total === null || the("port").getAttribute("aria-busy") === "true") return;
    const at = the("port").scrollTop > 0 ? this.board.firstItem() : 0;
    if ((Number(this.state.at) || 0) !== at) this.address.note({ at: at ? String(at) : "" });
  }

  async fetchFields() {
    const query = matching(this.state);
    if (query === this.fieldsFor) return;
    this.fieldsFor = query;
    try {
      // Of a large study it takes seconds to count every field: the first time their names come before.
      if (!this.fields.length) {
        const { fields } = await get(`/api/view/fields?${[query, "counts=0"].filter(Boolean).join("&")}`);
        if (this.fieldsFor !== query) return;
        this.known(fields);
      }
      const { fields } = await get(`/api/view/fields?${query}`);
      if (this.fieldsFor === query) this.known(fields);
    } catch (problem) {
      this.fieldsFor = null;
      this.failed(problem);
    }
  }

  /** Fields have come: all that is made of them is shown. */
  known(fields) {
    this.fields = fields;
    this.filters.show(this.state, this.study, fields);
    this.toolbar.show(this.state, this.study, fields);
    the("chips").replaceChildren(...chips(this.state, (id) => this.fieldOf(id), (changes) => this.change(changes)));
    this.draw();
    if (this.detail.detail) this.detail.fill(this.state);
    this.fetchChart();
  }

  /** The field of the chart: chosen, sorted by, shown, or what people said; empty for none. */
  chartField(chosen = this.state.chart) {
    if (chosen === "none" || (!chosen && !WIDE.matches)) return "";
    if (chosen && chosen !== "auto") return chosen;
    const sort = this.state.sort.replace(/^-/, "");
    const known = (id) => this.fields.some((field) => field.id === id);
    return [sort, ...this.state.show].find(known) ?? this.fields.find(({ type, direction }) => type === "number" && direction !== "none")?.id ?? "";
  }

  async fetchChart() {
    if (!this.fields.length) return;
    const by = this.chartField();
    the("strip").hidden = !by;
    the("chart-open").hidden = Boolean(by) || !this.fields.length;
    const sort = this.fieldOf(this.state.sort.replace(/^-/, ""));
    const of = this.fieldOf(by).type === "category" && sort.type === "number" ? { of: sort.id } : {};
    const query = [new URLSearchParams({ by, ...of }), matching(this.seen)].filter(String).join("&");
    if (!by || query === this.chartFor) return;
    this.chartFor = query;
    the("chart-by").replaceChildren(...this.fields.map(({ id, label }) => make("option", { value: id, selected: id === by }, label)));
    try {
      const answer = await get(`/api/view/chart?${query}`);
      if (this.chartFor !== query) return;
      const sure = answer.rows.some(({ mean }) => mean && mean.low !== null);
      // Those of the report are over raters too.
      const over = `, 95 % intervals over prompts${by.startsWith("truth:") ? ", not raters" : ""}`;
      the("chart-note").textContent = `by system${sure ? over : ""}; each leads to its images`;
      const made = chart(this.fieldOf(by), answer, this.colour, (address) => this.follow(address));
      the("chart").replaceChildren(...[made].flat());
    } catch (problem) {
      this.chartFor = null;
      the("chart").replaceChildren(make("p", { class: "quiet" }, words(problem)));
    }
  }

  /** Go to the images behind a part of a chart; how the page looks stays. */
  follow(address) {
    const { q, system, is, fields } = parse(new URL(address, location.href).search);
    this.change({ q, system, is, fields });
  }

  open(row) {
    this.go({ open: row.key, zoom: "", side: "" });
  }

  /** Close the detail: back to where it was opened from, or, after a shared address, to the board. */
  close() {
    if (history.state?.ours) history.back();
    else this.go({ open: "", zoom: "", side: "" }, { replace: true });
  }

  /** The detail is open on this row: the keyboard will come back to it. */
  mark(row) {
    this.viewed = { row, index: (this.detail.detail.neighbours.place ?? 0) - 1 };
    const on = this.selection.has(row.key);
    the("detail-select").setAttribute("aria-pressed", String(on));
    the("detail-select").textContent = on ? "Selected" : "Select";
  }

  returned() {
    const { row, index } = this.viewed;
    this.viewed = null;
    if (index < 0 || this.rows.total === null) return;
    const part = { prompts: this.rows.systems.indexOf(row.system), pair: row.system === this.state.b ? 1 : 0 }[this.state.layout] ?? 0;
    this.board.focus({ item: index, part: Math.max(0, part) });
  }

  pick(row) {
    this.selection.toggleKey(row.key);
    if (this.detail.isOpen) this.mark(row);
  }

  selected() {
    this.board.refresh();
    this.actions.show();
    the("heard").textContent = this.selection.size ? `${images(this.selection.size)} selected` : "Nothing selected";
  }

  /** Show verdicts with what they rest on in the grid, or hide them. */
  toggleVerdicts() {
    const { verdict } = this.study;
    if (!verdict) return;
    const { show } = this.state;
    this.change({ show: show.includes(verdict) ? show.filter((id) => id !== verdict) : [verdict, ...show] }, { stay: true });
  }

  /** Correct the verdict on a row to its opposite: a judgement of the owner, which can be corrected again. */
  async correct(row) {
    if (!row || !this.study.verdict) return;
    const where = this.detail.isOpen ? { where: "detail-said" } : {};
    try {
      const { message } = await post("/api/view/act", { action: "correct", keys: [row.key] });
      say(message, where);
      await this.changed();
      if (this.detail.isOpen) await this.detail.refetch(this.state);
    } catch (problem) {
      say(words(problem), where);
    }
  }

  async selectAll() {
    const { state } = this;
    const query = matching(this.seen);
    try {
      const n = state.layout ? (await get(`/api/view/rows?${[query, "limit=1"].filter(Boolean).join("&")}`)).total : this.rows.total;
      if (n) this.selection.all(query, n);
    } catch (problem) {
      this.failed(problem);
    }
  }

  /** The study was changed: everything is fetched again, in its place. A filter by what is gone goes as well. */
  async changed() {
    try {
      const [study, { fields }] = await Promise.all([get("/api/view/study"), get("/api/view/fields")]);
      this.study = study;
      const there = new Set(fields.map(({ id }) => id));
      const { state } = this;
      const left = Object.fromEntries(Object.entries(state.fields).filter(([id]) => there.has(id)));
      const sort = ["", "prompt", "random"].includes(state.sort) || there.has(state.sort.replace(/^-/, "")) ? state.sort : "";
      this.fieldsFor = null;
      this.chartFor = null;
      this.rows.reset(null);
      this.address.note({ fields: left, sort, show: state.show.filter((id) => there.has(id)), chart: there.has(state.chart) || state.chart === "none" ? state.chart : "" });
      this.show("back");
    } catch (problem) {
      this.failed(problem);
    }
  }

  escape() {
    if (the("app").classList.contains("sheet")) this.closeFilters();
    else if (this.selection.size) this.selection.clear();
  }

  openFilters() {
    the("app").classList.add("sheet");
    the("filters-open").setAttribute("aria-expanded", "true");
    the("panel").querySelector("input:not([hidden]), summary")?.focus();
  }

  closeFilters() {
    the("app").classList.remove("sheet");
    the("filters-open").setAttribute("aria-expanded", "false");
    the("filters-open").focus();
  }

  failed(problem) {
    const lost = problem instanceof Unreachable;
    this.waits(false);
    the("failed").replaceChildren(
      make("span", {}, lost ? "The server does not answer. Check that “sightline view” is still running; this page tries again by itself." : words(problem)),
      lost ? "" : make("button", { type: "button", class: "plain small", onclick: () => this.again() }, "Try again"),
      lost ? "" : make("a", { class: "plain small", href: location.pathname }, "Show everything"));
    the("failed").hidden = false;
    clearTimeout(this.retrying);
    if (lost) this.retrying = setTimeout(() => this.again(), AGAIN);
  }

  /** Ask again for what has not come. */
  again() {
    if (!this.study) {
      this.start().then(() => { if (this.study) this.connected(); });
      return;
    }
    this.rows.retry();
    if (this.rows.total === null) {
      this.waits(true);
      const at = Number(this.state.at) || 0;
      this.rows.want(at, at);
    } else {
      this.board.scroller.draw();
    }
    this.fetchFields();
    this.detail.show(this.state);
  }

  connected() {
    the("failed").hidden = true;
    clearTimeout(this.retrying);
  }
}

new Page().start();
