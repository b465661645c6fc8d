// One row in full: the image under a lens, alone or next to others of its prompt, and all that is known of it.

import { get, words } from "../shared/api.js";
import { say } from "../shared/dialogs.js";
import { count, make, the } from "../shared/elements.js";
import { absent } from "./cells.js";
import { boxesOf } from "./evidence.js";
import { facts } from "./facts.js";
import { Lens, Stage } from "./stage.js";
import { asked } from "./state.js";
import { name } from "./words.js";

export class Detail {
  /** `address` is the page's; `acts` what a detail can ask the page for. */
  constructor(address, acts) {
    Object.assign(this, { address, acts });
    this.dialog = the("detail");
    this.lens = new Lens(() => this.zoomed());
    this.drawn = new Set();
    this.met = new Set();
    this.stages = [];
    this.seen = 0;
    this.dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      this.acts.close();
    });
    the("detail-close").addEventListener("click", () => this.acts.close());
    the("detail-before").addEventListener("click", () => this.turn("previous"));
    the("detail-after").addEventListener("click", () => this.turn("next"));
    the("zoom-in").addEventListener("click", () => this.lens.larger());
    the("zoom-out").addEventListener("click", () => this.lens.smaller());
    the("zoom-fit").addEventListener("click", () => this.lens.fit());
    the("zoom-true").addEventListener("click", () => this.lens.trueSize());
    for (const each of document.querySelectorAll("#sides button")) {
      each.addEventListener("click", () => this.acts.go({ side: this.address.state.layout !== "pair" && each.value === "one" ? "" : each.value }));
    }
  }

  get isOpen() {
    return this.dialog.open;
  }

  /** Show what the state says; fetch it if it is another row. */
  async show(state) {
    if (!state.open) return this.hide();
    if (!this.isOpen) this.dialog.showModal();
    const query = [asked(state), `blind=${this.blind(state) ? 1 : 0}`].filter(Boolean).join("&");
    const wanted = `${encodeURIComponent(state.open)}?${query}`;
    if (wanted === this.wanted) {
      if (this.detail) this.arrange(state);
      return undefined;
    }
    this.wanted = wanted;
    this.dialog.setAttribute("aria-busy", "true");
    this.control?.abort();
    this.control = new AbortController();
    const { signal } = this.control;
    try {
      const detail = await get(`/api/view/rows/${wanted}`, {}, signal);
      if (signal.aborted) return undefined;
      // Siblings are in the order of the table, and so is the row among them.
      detail.siblings = [detail.row, ...detail.siblings].sort((a, b) => a.id - b.id);
      this.detail = detail;
      // What a verdict rests on is drawn unasked, the first time it is met.
      for (const { measure } of detail.scores.filter((each) => each.kind === "verdict" && !this.met.has(each.measure))) {
        this.met.add(measure);
        this.drawn.add(measure);
      }
      this.dialog.classList.remove("lost");
      this.arrange(state, true);
      this.dialog.removeAttribute("aria-busy");
    } catch (problem) {
      if (signal.aborted) return undefined;
      this.wanted = null;
      this.dialog.removeAttribute("aria-busy");
      this.clear();
      this.detail = null;
      // There is nothing to turn, zoom or select: what is left is the way back.
      this.dialog.classList.add("lost");
      the("facts").replaceChildren(make("p", { class: "alarm", role: "alert" }, words(problem)),
        make("button", { type: "button", class: "plain", onclick: () => this.acts.close() }, "Back to the images"));
    }
    return undefined;
  }

  blind(state) {
    return state.blind === "" ? this.acts.blindDefault() : state.blind !== "0";
  }

  /** Fetch the open row again: something about it was changed. */
  refetch(state) {
    this.wanted = null;
    return this.show(state);
  }

  hide() {
    this.control?.abort();
    this.wanted = null;
    this.detail = null;
    this.shown = null;
    if (!this.isOpen) return;
    this.clear();
    this.dialog.close();
  }

  clear() {
    for (const stage of this.stages) stage.remove();
    this.stages = [];
    the("stages").replaceChildren();
  }

  /** The rows that are shown as images: the open one, or several of its prompt. */
  rowsShown(state) {
    const { row, siblings } = this.detail;
    if (state.side === "systems") {
      const order = [...new Set(siblings.map(({ system }) => system))];
      return order.map((system) => this.twin(system));
    }
    if (state.side === "samples") return siblings.filter(({ system }) => system === row.system);
    if (state.layout === "pair" && state.side !== "one" && state.a && state.b) {
      const both = [state.a, state.b].map((system) => this.twin(system));
      if (both.every(Boolean)) return both;
    }
    return [row];
  }

  /** What another system gave for the same prompt: the same sample if it has so many, else its first. */
  twin(system) {
    const { row, siblings } = this.detail;
    const given = siblings.filter((each) => each.system === system);
    return given.find(({ position }) => position === row.position) ?? given[0];
  }

  arrange(state, fresh = false) {
    const { detail } = this;
    const rows = this.rowsShown(state);
    const shown = `${detail.row.key} ${rows.map(({ key }) => key).join(" ")}`;
    this.lens.set(state.zoom);
    if (shown !== this.shown) {
      this.shown = shown;
      this.clear();
      this.stages = rows.map((row) => this.stage(row, detail.row, rows.length > 1));
      the("stages").dataset.n = Math.min(rows.length, 9);
      this.seen = 0;
    }
    if (fresh) this.fill(state);
    for (const each of document.querySelectorAll("#sides button")) {
      const chosen = each.value === (state.side || (state.layout === "pair" ? "" : "one"));
      each.setAttribute("aria-pressed", String(chosen));
      each.hidden = each.value === "" ? state.layout !== "pair" : each.value === "one" ? false : !this.has(each.value);
    }
    this.boxes();
    this.lens.draw(false);
  }

  has(side) {
    const { row, siblings } = this.detail;
    if (side === "systems") return new Set(siblings.map(({ system }) => system)).size > 1;
    return siblings.filter(({ system }) => system === row.system).length > 1;
  }

  stage(row, open, named) {
    const stage = new Stage(this.lens, { address: row.full, width: row.width, height: row.height, label: name(row), missing: row.full ? "" : absent(row) });
    stage.key = row.key;
    if (named) {
      stage.element.append(make("button", { type: "button", class: "stage-name", "aria-current": row.key === open.key ? "true" : null, onclick: () => this.acts.go({ open: row.key }) },
        make("bdi", {}, row.system ?? "no system"), row.position ? ` #${row.position + 1}` : ""));
    }
    the("stages").append(stage.element);
    return stage;
  }

  fill(state) {
    const { detail } = this;
    const blind = this.blind(state);
    const at = the("facts").scrollTop;
    const same = the("facts").dataset.key === detail.row.key;
    the("facts").dataset.key = detail.row.key;
    the("facts").replaceChildren(...facts(detail, {
      blind,
      drawn: this.drawn,
      acts: {
        ...this.acts,
        open: (key) => this.acts.go({ open: key }),
        openPrompt: (id) => this.openPrompt(id),
        side: (side) => this.acts.go({ side }),
        unblind: () => this.acts.go({ blind: blind ? "0" : "1" }),
        thumbnail: (row) => make("img", { src: row.thumb, alt: "", loading: "lazy" }),
        draw: (measure, on) => {
          if (on) this.drawn.add(measure);
          else this.drawn.delete(measure);
          this.boxes();
        },
      },
    }));
    the("facts").scrollTop = same ? at : 0;
    const { previous, next, place, total } = detail.neighbours;
    the("detail-before").disabled = !previous;
    the("detail-after").disabled = !next;
    the("detail-place").textContent = place === null ? "" : `${count(place)} of ${count(total)}`;
    this.acts.selectable(detail.row);
  }

  /** Open the first answer to another prompt. */
  async openPrompt(id) {
    try {
      const { systems } = await get(`/api/view/prompts/${id}`);
      const [first] = systems.flatMap(({ rows }) => rows);
      if (first) this.acts.go({ open: first.key });
      else say("No system has answered that prompt.", { where: "detail-said" });
    } catch (problem) {
      say(words(problem), { where: "detail-said" });
    }
  }

  /** Draw the boxes of the chosen measures over the image they are about. */
  boxes() {
    const stage = this.stages.find((each) => each.key === this.detail.row.key);
    const measures = this.detail.scores.filter(({ measure, evidence }) => this.drawn.has(measure) && boxesOf(evidence).length);
    stage?.show(measures.flatMap(({ measure, evidence }) => {
      const colour = this.detail.scores.filter((each) => boxesOf(each.evidence).length).findIndex((each) => each.measure === measure);
      return boxesOf(evidence).map((box) => ({ ...box, colour }));
    }));
    for (const each of the("facts").querySelectorAll("[data-measure]")) each.classList.toggle("drawn", this.drawn.has(each.dataset.measure));
  }

  /** Draw the boxes of all measures, or of none. */
  toggleBoxes() {
    const with_ = this.detail?.scores.filter(({ evidence }) => boxesOf(evidence).length).map(({ measure }) => measure) ?? [];
    const on = with_.some((measure) => !this.drawn.has(measure));
    for (const measure of with_) {
      if (on) this.drawn.add(measure);
      else this.drawn.delete(measure);
    }
    for (const box of the("facts").querySelectorAll("[data-key^='boxes-']")) box.checked = on;
    if (this.detail) this.boxes();
  }

  zoomed() {
    clearTimeout(this.noting);
    this.noting = setTimeout(() => { if (this.isOpen) this.address.note({ zoom: this.lens.text }); }, 150);
  }

  turn(way) {
    const key = this.detail?.neighbours[way];
    if (key) this.acts.go({ open: key }, { replace: true });
  }

  /** Do what a key stands for; says whether it stands for anything. */
  key(event) {
    const acts = {
      "[": () => this.turn("previous"),
      "]": () => this.turn("next"),
      b: () => this.toggleBoxes(),
      n: () => this.acts.go({ blind: this.blind(this.address.state) ? "0" : "1" }),
      x: () => this.acts.select(this.detail?.row),
      c: () => this.acts.correct(this.detail?.row),
      s: () => this.acts.go({ side: this.address.state.side === "systems" ? "" : "systems" }),
    };
    if (this.lens.key(event)) return true;
    acts.ArrowLeft = acts["["];
    acts.ArrowRight = acts["]"];
    acts[event.key]?.();
    return event.key in acts;
  }
}
