// The controls of one question about one thing: buttons, or a slider that counts only once it was touched.

import { keycap, make, plain } from "../shared/elements.js";

const SETTLED_MS = 500;

/** Whether an answer is this label of a question. */
export const isLabel = (label, answer) =>
  answer !== null && (label.value === null ? answer.skipped === label.skipped : answer.value === label.value);

/**
 * The control of a question: element, question, show(answer), key(event) and flush(). `choose` takes what was
 * answered: { value } or, for a label without one, { skipped }.
 */
export function control(question, ownKeys, choose) {
  if (question.slider) return new Slider(question, (value) => choose({ value }));
  return new Choices(question, ownKeys, ({ value, skipped }) => choose(value === null ? { skipped } : { value }));
}

/** Whether a key of the mode, by what it stands for, takes a label. */
export const stands = (meant, label) => (label.value === null ? meant === label.skipped : Number(meant) === label.value);

class Choices {
  constructor(question, ownKeys, choose) {
    this.question = question;
    this.ownKeys = ownKeys;
    this.choose = choose;
    this.element = make("div", { class: "choices", role: "group", "aria-label": question.wording });
    this.element.dataset.labels = question.labels.length;
    this.buttons = question.labels.map((label) => {
      const own = Object.keys(ownKeys).find((key) => stands(ownKeys[key], label));
      const key = own ?? label.key;
      const button = make(
        "button",
        { type: "button", class: "choice", "aria-pressed": "false", onclick: () => choose(label) },
        // A number is its own key.
        key === label.text ? null : keycap(key),
        make("span", {}, label.text),
      );
      this.element.append(button);
      return button;
    });
  }

  show(answer) {
    this.question.labels.forEach((label, n) => {
      this.buttons[n].setAttribute("aria-pressed", String(isLabel(label, answer)));
    });
  }

  /** Mark the values that other things on the page have. */
  share(values) {
    this.question.labels.forEach((label, n) => this.buttons[n].classList.toggle("taken", values.has(label.value)));
  }

  /** Take a key that stands for a label; says whether it did. */
  key(event) {
    const own = this.ownKeys[event.key] ?? this.ownKeys[event.key.toLowerCase()];
    const label = this.question.labels.find((each) =>
      own === undefined ? each.key === event.key : stands(own, each),
    );
    if (label) this.choose(label);
    return label !== undefined;
  }

  /** Where the focus goes when this is the next to answer; none: the thing itself. */
  focus() {
    return null;
  }

  flush() {}
}

class Slider {
  constructor(question, choose) {
    this.question = question;
    this.choose = choose;
    this.draft = null;
    this.touched = false;
    this.size = question.step ?? (question.high - question.low) / 100;
    this.digits = plain(this.size).split(".")[1]?.length ?? 0;
    this.input = make("input", {
      type: "range",
      min: question.low,
      max: question.high,
      step: this.size,
      "aria-label": question.wording,
    });
    this.output = make("output", { "aria-hidden": "true" });
    this.hint = make("p", { class: "hint" });
    this.element = make(
      "div",
      { class: "slider" },
      make("div", { class: "asked" }, make("span", { class: "wording" }, question.wording), this.output),
      this.input,
      this.ticks(),
      this.hint,
    );
    this.input.addEventListener("input", () => this.move(Number(this.input.value)));
    // A touch exactly where the untouched slider stands moves nothing, and is an answer all the same.
    this.input.addEventListener("pointerup", () => this.move(Number(this.input.value)));
    this.input.addEventListener("blur", () => this.flush());
    this.input.addEventListener("keydown", (event) => this.step(event));
    this.show(null);
  }

  show(answer) {
    if (this.draft !== null) return;
    const value = answer?.value ?? null;
    this.touched = value !== null;
    this.draw(value);
  }

  draw(value) {
    const { low, high } = this.question;
    this.element.classList.toggle("untouched", value === null);
    this.input.value = value ?? (low + high) / 2;
    this.input.style.setProperty("--share", `${(100 * (this.input.value - low)) / (high - low)}%`);
    this.output.textContent = value === null ? "" : value.toFixed(this.digits);
    this.input.setAttribute("aria-valuetext", value === null ? "not answered yet" : this.words(value));
    const [first, last] = this.isPlain() ? [low, high] : [0, 9];
    this.hint.textContent =
      value === null ? `Not answered yet: touch the line, or press ${first} to ${last} and then ← →.` : "";
  }

  words(value) {
    const near = this.question.labels.filter((label) => Math.abs(label.value - value) < this.size / 2);
    return [value.toFixed(this.digits), ...near.map((label) => label.text)].join(", ");
  }

  move(value) {
    const { low, high } = this.question;
    const kept = Number(Math.min(high, Math.max(low, value)).toFixed(this.digits));
    this.touched = true;
    this.draft = kept;
    this.draw(kept);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), SETTLED_MS);
  }

  /**
   * Arrows by one step, with Shift by ten. The first one only puts the slider in the middle. Up and down lead from
   * slider to slider where a page has several.
   */
  step(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (["ArrowUp", "ArrowDown"].includes(event.key) && this.leave?.(event.key === "ArrowUp" ? -1 : 1)) {
      event.preventDefault();
      return;
    }
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (way === undefined) return;
    event.preventDefault();
    const far = this.touched ? way * this.size * (event.shiftKey ? 10 : 1) : 0;
    this.move(Number(this.input.value) + far);
  }

  /** Whether digits stand for values as they are, on a scale such as 0 to 5; else for tenths of it. */
  isPlain() {
    const { low, high } = this.question;
    return Number.isInteger(low) && Number.isInteger(high) && low >= 0 && high <= 9 && high - low > 1;
  }

  key(event) {
    if (!/^[0-9]$/.test(event.key)) return false;
    const { low, high } = this.question;
    const digit = Number(event.key);
    const value = this.isPlain() ? digit : low + (digit * (high - low)) / 10;
    if (value < low || value > high) return false;
    this.move(low + Math.round((value - low) / this.size) * this.size);
    this.input.focus({ preventScroll: true });
    return true;
  }

  focus() {
    return this.input;
  }

  /** Hand over a value that has only just been set. */
  flush() {
    clearTimeout(this.timer);
    if (this.draft === null) return;
    const value = this.draft;
    this.draft = null;
    this.choose(value);
  }

  ticks() {
    const ticks = make("div", { class: "ticks", "aria-hidden": "true" });
    const { low, high } = this.question;
    for (const label of this.question.labels) {
      const tick = make("button", { type: "button", tabindex: "-1" }, make("b", {}, plain(label.value)), label.text);
      tick.addEventListener("click", () => this.move(label.value));
      tick.style.setProperty("--at", `${(100 * (label.value - low)) / (high - low)}%`);
      ticks.append(tick);
    }
    return ticks;
  }
}
