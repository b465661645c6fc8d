// One page as the mode's layout has it: things to judge, each with its images and questions.

import { count, make, the } from "../shared/elements.js";
import { lay } from "../shared/fit.js";
import { drawn } from "../shared/marks.js";
import { Order } from "./order.js";
import { control, isLabel } from "./questions.js";

const NAMES = { pair: ["A", "B"], triplet: ["Reference", "A", "B"] };

/** What image `at` of thing `n` is called, of so many things on the page. */
export function nameOf(layout, n, at, things) {
  // Numbers are places where images are put in order.
  if (layout === "order") return `Image ${String.fromCharCode(65 + n)}`;
  return NAMES[layout]?.[at] ?? (things > 1 ? `Image ${n + 1} of ${things}` : "Image");
}

export class View {
  /** `acts` are what the page can ask for: choose(slot, question, given), enlarge(slot, n), activate(slot). */
  constructor(task, deck, pictures, acts) {
    Object.assign(this, { task, deck, pictures, acts });
    this.things = [];
    this.active = 0;
    this.page = null;
    this.laying = new ResizeObserver((frames) => frames.forEach(({ target }) => target.lay()));
    the("wording").textContent = task.questions.length === 1 ? task.questions[0].wording : "";
    this.isOrder = task.layout === "order";
    this.order = this.isOrder ? new Order(pictures, (n) => this.activate(n)) : null;
    the("things").className = this.isOrder ? "grid order" : task.layout;
    const labels = Math.max(...task.questions.map((each) => each.labels.length));
    the("things").style.setProperty("--labels", this.isOrder ? 2 : labels);
  }

  /** The questions as a page asks them: an order has as many places as images. */
  questions(page) {
    if (!this.isOrder) return this.task.questions;
    return this.task.questions.map((each) => ({ ...each, labels: each.labels.slice(0, page.slots.length) }));
  }

  show(page, language) {
    this.page = page;
    this.prompt(page, language);
    this.asks = this.questions(page);
    this.laying.disconnect();
    this.things = page.slots.map((slot, n) => this.thing(page, slot, n));
    this.spread(page.slots.length);
    the("things").replaceChildren(...this.things.map((thing) => thing.element));
    this.refresh();
    scrollTo({ top: 0, behavior: "instant" });
  }

  /** At most six in a row, and rows of like length. */
  spread(n) {
    const rows = Math.ceil(n / 6);
    the("things").style.setProperty("--rows", rows);
    the("things").style.setProperty("--wide", Math.ceil(n / rows));
    the("things").style.setProperty("--middle", Math.min(n, 3));
  }

  prompt(page, language) {
    const shown = the("prompt");
    the("text").hidden = page.prompt === null;
    shown.textContent = page.prompt ?? "";
    shown.lang = page.original !== null && language ? language : "";
    the("original").hidden = true;
    the("original-text").textContent = page.original ?? "";
    the("show-original").hidden = page.original === null;
    the("show-original").setAttribute("aria-expanded", "false");
    the("show-linked").hidden = !(this.task.linked && page.linked);
  }

  /** Show or hide the prompt as it was written. */
  toggleOriginal() {
    if (this.page?.original == null) return false;
    const hidden = !the("original").hidden;
    the("original").hidden = hidden;
    the("show-original").setAttribute("aria-expanded", String(!hidden));
    return true;
  }

  thing(page, slot, n) {
    const many = page.slots.length > 1;
    const controls = this.asks.map((question) =>
      control(question, this.task.keys, (given) => this.acts.choose(slot, question, given)),
    );
    controls.forEach((each) => {
      each.leave = (far) => this.sliders().length > 1 && (this.toSlider(far) || true);
    });
    const pictures = slot.images.map((address, at) =>
      this.picture(slot, address, at, nameOf(this.task.layout, n, at, page.slots.length)),
    );
    const element = make(
      "section",
      {
        class: "thing",
        role: "group",
        tabindex: "-1",
        "aria-describedby": n === 0 && page.prompt !== null ? "prompt" : null,
        onfocusin: () => this.acts.activate(n),
      },
      make("div", { class: "pictures" }, ...pictures),
      make("div", { class: "controls" }, ...controls.map((each) => this.asked(each, many))),
    );
    return { element, slot, controls, name: nameOf(this.task.layout, n, 0, page.slots.length) };
  }

  asked(each, many) {
    const titled = !many && !each.question.slider && this.task.questions.length > 1;
    if (!titled) return each.element;
    return make("div", {}, make("p", { class: "wording" }, each.question.wording), each.element);
  }

  picture(slot, address, at, named) {
    const image = make("img", { alt: named, draggable: "false" });
    const inWords = named === "Image" ? "the image" : named.replace("Image", "image");
    const marks = make("span", { class: "marks", "data-slot": slot.slot, "data-part": at, "aria-hidden": "true" });
    const button = make(
      "button",
      { type: "button", class: "picture loading", "aria-label": `Enlarge ${inWords}` },
      image,
      marks,
    );
    button.lay = () => lay(button, image, marks);
    this.laying.observe(button);
    button.addEventListener("click", () => {
      if (button.classList.contains("failed")) this.fill(button, image, address);
      else this.acts.enlarge(slot, at);
    });
    this.fill(button, image, address);
    return make("figure", { class: `at-${at}` }, button);
  }

  async fill(button, image, address) {
    button.classList.remove("failed");
    button.classList.add("loading");
    try {
      image.src = await this.pictures.load(address);
      await image.decode();
      button.lay();
    } catch {
      if (!button.isConnected) return;
      button.classList.add("failed");
      button.dataset.failed = "This image does not load. Press to try again.";
    } finally {
      button.classList.remove("loading");
    }
  }

  /** Show what is answered, what is active and what is left. */
  refresh() {
    const { page, deck } = this;
    const reasons = new Set();
    this.things.forEach((thing, n) => {
      const answers = thing.controls.map((each) => deck.answer(page, thing.slot, each.question));
      thing.controls.forEach((each, q) => each.show(answers[q]));
      answers
        .filter((answer, q) => answer?.skipped && !this.asks[q].labels.some((label) => isLabel(label, answer)))
        .forEach((answer) => reasons.add(answer.skipped));
      const done = answers.every((answer) => answer !== null);
      thing.element.classList.toggle("done", done);
      thing.element.classList.toggle("active", n === this.active);
      thing.element.setAttribute("aria-label", this.called(n, answers));
    });
    this.inOrder();
    this.remarks();
    the("skipped").hidden = reasons.size === 0;
    the("skipped-why").textContent = [...reasons].join("; ");
    const left = deck.missing(page).length;
    const all = page.slots.length * this.task.questions.length;
    const answered = [`${all - left} of ${all}`, make("span", { class: "word" }, " answered")];
    the("left").replaceChildren(...(left && all > 1 ? answered : []));
    the("next").setAttribute("aria-disabled", String(left > 0));
  }

  /** What was noted: regions over their images, and whether there is a comment or a flag. */
  remarks() {
    for (const marks of the("things").querySelectorAll(".marks")) {
      const { slot, part } = marks.dataset;
      const { boxes } = this.deck.noted(this.page, "regions", Number(slot), Number(part));
      marks.replaceChildren(...boxes.map(drawn));
    }
    for (const kind of ["comment", "flag"]) {
      the(kind).setAttribute("aria-pressed", String(this.deck.noted(this.page, kind).text !== ""));
    }
  }

  /** Where images are put in order: which places are taken, and the order so far. */
  inOrder() {
    if (!this.isOrder) return;
    const [question] = this.asks;
    const places = this.things.map((thing) => this.deck.answer(this.page, thing.slot, question)?.value ?? null);
    this.things.forEach((thing, n) => thing.controls[0].share(new Set(places.filter((_, other) => other !== n))));
    this.order.show(this.things, places);
  }

  called(n, answers) {
    const what = this.things.length > 1 ? this.things[n].name : this.task.questions[0].wording;
    const said = answers.map((answer, q) => {
      if (answer === null) return "not answered";
      const label = this.asks[q].labels.find((each) => isLabel(each, answer));
      if (label) return this.isOrder ? `place ${label.text}` : label.text;
      return answer.value === null ? "skipped" : String(answer.value);
    });
    return `${what}: ${said.join(", ")}`;
  }

  /** Make a thing the active one; with the focus, and in sight, by default. */
  activate(n, { focus = true, scroll = true } = {}) {
    this.active = Math.max(0, Math.min(n, this.things.length - 1));
    this.things.forEach((thing, at) => thing.element.classList.toggle("active", at === this.active));
    if (!focus) return;
    const thing = this.things[this.active];
    const target = this.current()?.focus() ?? thing.element;
    target.focus({ preventScroll: true });
    if (!scroll) return;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    thing.element.scrollIntoView({ block: "nearest", behavior: calm ? "instant" : "smooth" });
  }

  /** The control that keys go to: the one that has the focus, else the first without an answer. */
  current() {
    const thing = this.things[this.active];
    if (!thing) return null;
    const focused = thing.controls.find((each) => each.element.contains(document.activeElement));
    if (focused) return focused;
    const open = thing.controls.find(
      (each) => this.deck.answer(this.page, thing.slot, each.question) === null,
    );
    return open ?? thing.controls[0];
  }

  /** Every slider of the page, in order. */
  sliders() {
    return this.things.flatMap((thing) => thing.controls.filter((each) => each.question.slider));
  }

  /** Put the focus on a slider, a few on from the one that has it; says whether there is another. */
  toSlider(far) {
    const all = this.sliders();
    const at = all.indexOf(this.current());
    const to = all[at + far];
    if (!to || at < 0) return false;
    to.focus().focus();
    return true;
  }

  /** Go to the first answer that is missing, after the control in focus and then from the start. */
  toMissing() {
    const controls = this.things.flatMap((thing, n) => thing.controls.map((each) => ({ each, thing, n })));
    const open = controls.map(
      ({ each, thing }) => this.deck.answer(this.page, thing.slot, each.question) === null,
    );
    const from = controls.findIndex(({ each }) => each === this.current());
    const after = open.findIndex((is, n) => is && n > from);
    const next = controls[after >= 0 ? after : open.indexOf(true)];
    if (!next) return;
    this.things[this.active].element.focus({ preventScroll: true });
    this.activate(next.n);
    next.each.focus()?.focus({ preventScroll: true });
  }

  /** The next thing without an answer, from the active one on and then from the start; -1 if there is none. */
  nextOpen() {
    const open = new Set(this.deck.missing(this.page).map((missing) => missing.slot));
    const from = this.things.findIndex((thing, n) => n >= this.active && open.has(thing.slot));
    return from >= 0 ? from : this.things.findIndex((thing) => open.has(thing.slot));
  }

  /** Things next to each other in a row, as they stand now. */
  columns() {
    const tops = this.things.map((thing) => Math.round(thing.element.getBoundingClientRect().top));
    return Math.max(1, tops.filter((top) => top === tops[0]).length);
  }

  flush() {
    this.things.forEach((thing) => thing.controls.forEach((each) => each.flush()));
  }

  leftInWords() {
    const missing = this.deck.missing(this.page);
    const several = this.task.questions.length > 1;
    const which = several && missing.length === 1 ? `: ${missing[0].question.wording}` : ".";
    return `${count(missing.length, "answer is", "answers are")} still missing here${which}`;
  }
}
