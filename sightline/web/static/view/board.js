// The board of thumbnails: which row stands where, which cell has the focus, and how the keyboard moves it.

import { count, make } from "../shared/elements.js";
import { cell, fill } from "./cells.js";
import { Scroller } from "./scroller.js";
import { figure } from "./words.js";

const SIDES = { s: 6, m: 10, l: 16 };
const GAP = 0.75;
const BETWEEN_PAIRS = 1.75;
const BELOW = 1;
const HEADING = 3;
const WHO = 1.5;
const TEXT = 2.25;
const VALUE = 1.25;

export class Board {
  constructor({ port, area, rows, thumbnails, selection, open, scrolled }) {
    Object.assign(this, { port, area, rows, thumbnails, selection, open, scrolled });
    this.current = { item: 0, part: 0 };
    this.plan = { layout: "grid", columns: 1, parts: 1, groups: 1, fields: [], state: null };
    this.scroller = new Scroller(port, area, {
      build: () => this.line(),
      fill: (line, number) => this.fillLine(line, number),
      clear: (line) => line.cells.forEach((each) => thumbnails.drop(each.parts.image)),
      moved: (first, last) => this.moved(first, last),
    });
    area.addEventListener("click", (event) => this.click(event));
    area.addEventListener("focusin", (event) => this.focused(event));
    new ResizeObserver(() => this.arrange()).observe(area);
  }

  /** Show a state: `fields` are those printed under thumbnails, `colour` gives a system's number of colour. */
  show(state, fields, colour) {
    this.shown = { state, fields, colour };
    this.arrange();
  }

  /** Work out columns and heights, and draw. */
  arrange() {
    if (!this.shown || this.rows.total === null || !this.area.clientWidth) return;
    const { state, fields } = this.shown;
    const layout = state.layout || "grid";
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const wide = this.area.clientWidth / rem;
    const least = SIDES[state.size] ?? SIDES.m;
    const parts = { grid: 1, pair: 2, prompts: Math.max(1, this.rows.systems.length) }[layout] ?? 1;
    const room = parts * least + (parts - 1) * (GAP / 2);
    const gap = layout === "pair" ? BETWEEN_PAIRS : GAP;
    const groups = layout === "prompts" ? 1 : Math.max(1, Math.floor((wide + gap) / (room + gap)));
    const each = ((wide + gap) / groups - gap - (parts - 1) * (GAP / 2)) / parts;
    const side = layout === "prompts" ? Math.max(Math.min(least, 8), Math.min(each, least * 1.5)) : each;
    const text = layout === "grid" && state.size !== "s" ? TEXT : 0;
    const below = WHO + text + fields.length * VALUE;
    const line = side + below + (layout === "grid" ? 0 : HEADING) + BELOW;
    const before = this.plan;
    this.plan = { layout, parts, groups, columns: parts * groups, count: Math.ceil(this.rows.total / groups) };
    this.area.dataset.layout = layout;
    this.area.dataset.size = state.size || "m";
    this.area.style.setProperty("--side", `${side}rem`);
    this.area.setAttribute("aria-rowcount", this.plan.count);
    this.area.setAttribute("aria-colcount", this.plan.columns);
    const again = ["layout", "parts", "groups"].some((part) => before[part] !== this.plan[part]);
    const kept = before.count && again ? this.firstItem(before.groups) : null;
    this.current.item = Math.max(0, Math.min(this.current.item, this.rows.total - 1));
    this.current.part = Math.min(this.current.part, parts - 1);
    this.scroller.resize(this.plan.count, line * rem, again);
    if (kept) this.scroller.scrollTo(Math.floor(kept / groups));
    this.scroller.refresh();
  }

  firstItem(groups = this.plan.groups) {
    return this.scroller.first * groups;
  }

  goTo(item) {
    this.scroller.scrollTo(Math.floor(item / this.plan.groups));
  }

  line() {
    const { groups, parts, layout } = this.plan;
    const cells = Array.from({ length: groups * parts }, () => cell(this.thumbnails));
    cells.forEach((each, at) => each.setAttribute("aria-colindex", at + 1));
    const headings = layout === "grid" ? [] : Array.from({ length: groups }, () => heading());
    const line = make("div", { class: "line", role: "row" }, headings.length
      ? headings.map((each, at) => make("div", { class: "group" }, each, make("div", { class: "cells" }, cells.slice(at * parts, (at + 1) * parts))))
      : cells);
    return Object.assign(line, { cells, headings });
  }

  fillLine(line, number) {
    const { groups, parts } = this.plan;
    line.setAttribute("aria-rowindex", number + 1);
    line.number = number;
    line.cells.forEach((each, at) => {
      const item = number * groups + Math.floor(at / parts);
      const part = at % parts;
      each.place = { item, part };
      fill(each, this.rowOf(item, part), {
        fields: this.shown.fields,
        colour: this.shown.colour,
        selected: this.selection.has(this.rowOf(item, part)?.key),
        current: item === this.current.item && part === this.current.part,
        failed: this.rows.failed(item),
      });
    });
    line.headings.forEach((each, at) => fillHeading(each, this.rows.at(number * groups + at), number * groups + at < this.rows.total));
  }

  /** The row of a cell; undefined while it is loading, null where there is none. */
  rowOf(item, part = 0) {
    if (item >= this.rows.total) return null;
    const held = this.rows.at(item);
    if (!held) return undefined;
    if (this.plan.layout === "prompts") return held.cells[part] ?? null;
    if (this.plan.layout === "pair") return [held.a, held.b][part] ?? null;
    return held;
  }

  moved(first, last) {
    const { groups } = this.plan;
    if (this.rows.total === null) return;
    clearTimeout(this.waiting);
    const want = () => this.rows.want(first * groups, Math.min(this.rows.total - 1, (last + 1) * groups - 1));
    // While somebody flies over thousands of rows, none of them is fetched.
    this.waiting = setTimeout(() => { want(); this.scrolled(); }, 40);
  }

  refresh() {
    this.scroller.refresh();
  }

  cellAt({ item, part }) {
    const line = this.scroller.lines.get(Math.floor(item / this.plan.groups));
    return line?.cells[(item % this.plan.groups) * this.plan.parts + part] ?? null;
  }

  /** Put the focus on a cell and scroll to it. */
  focus(place = this.current) {
    this.select(place);
    this.scroller.reveal(Math.floor(place.item / this.plan.groups));
    this.cellAt(place)?.focus({ preventScroll: true });
  }

  select(place) {
    const before = this.cellAt(this.current);
    if (before) before.tabIndex = -1;
    this.current = { ...place };
    const now = this.cellAt(place);
    if (now) now.tabIndex = 0;
  }

  focused(event) {
    const element = event.target.closest(".cell");
    if (element) this.select(element.place);
  }

  click(event) {
    const element = event.target.closest(".cell");
    if (!element?.row) return;
    const picks = event.target.closest(".check") || event.ctrlKey || event.metaKey;
    this.select(element.place);
    if (event.shiftKey) this.selection.extendTo(element.place);
    else if (picks) this.selection.toggle(element.place);
    else this.open(element.row);
  }

  /** Do what a key stands for on the board; says whether it stands for anything. */
  key(event) {
    const { columns, count, groups, parts } = this.plan;
    const page = Math.max(1, Math.floor(this.scroller.view / this.scroller.height));
    const ends = event.ctrlKey || event.metaKey;
    const at = this.current.item * parts + this.current.part;
    const most = this.rows.total * parts - 1;
    const line = Math.floor(this.current.item / groups);
    const to = {
      ArrowLeft: at - 1,
      ArrowRight: at + 1,
      ArrowUp: at - columns,
      ArrowDown: line === count - 1 ? at : Math.min(most, at + columns),
      PageUp: Math.max(at % columns, at - page * columns),
      PageDown: Math.min(most, at + page * columns),
      Home: ends ? 0 : line * columns,
      End: ends ? most : Math.min(most, (line + 1) * columns - 1),
    }[event.key];
    if (to === undefined) return false;
    if (to >= 0 && to <= most) this.move({ item: Math.floor(to / parts), part: to % parts }, event.shiftKey);
    return true;
  }

  move(place, extend) {
    // A range begins where one was when the shift key went down.
    if (extend) this.selection.startAt(this.current);
    else this.selection.leave();
    this.focus(place);
    if (extend) this.selection.extendTo(place);
  }
}

function heading() {
  const text = make("span", { class: "text", dir: "auto" });
  const note = make("span", { class: "note" });
  return Object.assign(make("div", { class: "heading", role: "rowheader" }, text, note), { text, note });
}

function fillHeading(element, item, exists) {
  element.hidden = !exists;
  element.text.textContent = item?.prompt ?? "";
  element.note.textContent = item ? noteOf(item) : "";
}

function noteOf(item) {
  if (item.difference !== undefined) return item.difference === null ? "" : `left minus right ${item.difference > 0 ? "+" : ""}${figure(item.difference)}`;
  const more = item.cells.reduce((sum, each) => sum + Math.max(0, (each?.samples ?? 1) - 1), 0);
  return more ? `${count(more, "more sample")} in all` : "";
}
