// Regions of an image: boxes [left, top, right, bottom] as fractions of its width and height.

import { make } from "./elements.js";

const LEAST = 0.01;
const STEP = 0.02;
const MOST = 20;
const exact = (number) => Number(Math.min(1, Math.max(0, number)).toFixed(4));
const percent = (number) => `${Math.round(100 * number)} %`;

/** A box as an outline over an image. */
export function drawn(box) {
  const made = make("i", { class: "box" });
  place(made, box);
  return made;
}

function place(element, [left, top, right, bottom]) {
  Object.assign(element.style, {
    left: `${100 * left}%`,
    top: `${100 * top}%`,
    width: `${100 * (right - left)}%`,
    height: `${100 * (bottom - top)}%`,
  });
}

/** Boxes that are drawn, moved and removed over an image. `changed` is given all boxes after a change. */
export class Marks {
  constructor(layer, changed) {
    Object.assign(this, { layer, changed, boxes: [], on: false, start: null });
  }

  show(boxes) {
    this.boxes = boxes.map((box) => [...box]);
    this.draw();
  }

  draw(focus = -1) {
    this.layer.replaceChildren(...this.boxes.map((box, n) => this.box(box, n)));
    this.layer.children[focus]?.focus();
  }

  box(box, n) {
    const [left, top, right, bottom] = box.map(percent);
    const said = `Region ${n + 1}, from ${left} to ${right} across and ${top} to ${bottom} down`;
    const made = make(
      "div",
      {
        class: "box", role: "group", tabindex: this.on ? "0" : "-1", "aria-label": said,
        onkeydown: (event) => this.key(event, n),
      },
      make("button", { type: "button", "aria-label": `Remove region ${n + 1}`, onclick: () => this.remove(n) }, "×"),
    );
    place(made, box);
    return made;
  }

  /** Where an event is, as fractions of the image. */
  at(event) {
    const room = this.layer.getBoundingClientRect();
    return [exact((event.clientX - room.left) / room.width), exact((event.clientY - room.top) / room.height)];
  }

  down(event) {
    this.start = this.at(event);
  }

  drag(event) {
    if (!this.start) return;
    this.layer.querySelector(".draft")?.remove();
    const draft = drawn(this.between(this.at(event)));
    draft.classList.add("draft");
    this.layer.append(draft);
  }

  up(event) {
    if (!this.start) return;
    const box = this.between(this.at(event));
    this.start = null;
    if (box[2] - box[0] >= LEAST && box[3] - box[1] >= LEAST) this.add(box);
    else this.draw();
  }

  between([x, y]) {
    const [x0, y0] = this.start;
    return [Math.min(x, x0), Math.min(y, y0), Math.max(x, x0), Math.max(y, y0)];
  }

  add(box = [0.375, 0.375, 0.625, 0.625]) {
    if (this.boxes.length >= MOST) return;
    this.boxes.push(box);
    this.draw(this.boxes.length - 1);
    this.changed(this.boxes);
  }

  remove(n) {
    this.boxes.splice(n, 1);
    this.draw(Math.min(n, this.boxes.length - 1));
    this.changed(this.boxes);
  }

  /** Arrows move a box, with Shift its lower right corner; Delete removes it. */
  key(event, n) {
    if (!this.on || event.ctrlKey || event.altKey || event.metaKey) return;
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === "Delete" || event.key === "Backspace") this.remove(n);
    else if (way) this.shift(n, way, event.shiftKey);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  shift(n, way, sized) {
    const box = this.boxes[n];
    for (const side of [0, 1]) {
      const far = STEP * way[side];
      const least = box[side] + LEAST;
      if (sized) box[side + 2] = exact(Math.max(least, box[side + 2] + far));
      else if (box[side] + far >= 0 && box[side + 2] + far <= 1) {
        box[side] = exact(box[side] + far);
        box[side + 2] = exact(box[side + 2] + far);
      }
    }
    this.draw(n);
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.flush(), 400);
  }

  /** Hand over what was only just moved. */
  flush() {
    if (!this.resting) return;
    clearTimeout(this.resting);
    this.resting = null;
    this.changed(this.boxes);
  }
}
