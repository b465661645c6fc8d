// Looking closely: one or several images under one lens, so that all show the same place at the same size.

import { make } from "../shared/elements.js";

const MOST = 64;
const FACTOR = 1.4;
const STEP = 80;
// A small picture is enlarged by whole steps, up to this, so that its pixels stay squares.
const SMALL = 4;
const COLOURS = 6;

/** Zoom relative to "fits", and the point in the middle as fractions of the image. */
export class Lens {
  constructor(changed) {
    this.changed = changed;
    this.stages = [];
    this.set("");
  }

  /** From an address: "2.5,0.5,0.4". */
  set(text) {
    const [zoom, x, y] = text.split(",").map(Number);
    const valid = [zoom, x, y].every(Number.isFinite) && zoom > 0;
    Object.assign(this, valid ? { zoom, x, y } : { zoom: 1, x: 0.5, y: 0.5 });
  }

  get text() {
    const short = (value) => String(Number(value.toFixed(4)));
    return this.isFit ? "" : [this.zoom, this.x, this.y].map(short).join(",");
  }

  get isFit() {
    return this.zoom === 1 && this.x === 0.5 && this.y === 0.5;
  }

  fit() {
    Object.assign(this, { zoom: 1, x: 0.5, y: 0.5 });
    this.draw();
  }

  /** One pixel of the image on one of the page. */
  trueSize() {
    const fits = this.stages.map((stage) => stage.fits).filter(Boolean);
    if (fits.length) this.zoomTo(1 / Math.max(...fits));
  }

  toggle() {
    const was = this.isFit;
    if (!was) return this.fit();
    const fits = Math.max(0, ...this.stages.map((stage) => stage.fits ?? 0));
    return fits < 1 ? this.trueSize() : this.zoomTo(3);
  }

  larger() {
    this.zoomTo(this.zoom * FACTOR);
  }

  smaller() {
    this.zoomTo(this.zoom / FACTOR);
  }

  /** Zoom; the point at (x, y), fractions of the image, stays where it is. */
  zoomTo(zoom, x = this.x, y = this.y) {
    const wanted = Math.max(0.25, Math.min(MOST, zoom));
    const share = this.zoom / wanted;
    this.x = x + (this.x - x) * share;
    this.y = y + (this.y - y) * share;
    this.zoom = wanted;
    this.draw();
  }

  /** Move by fractions of the image. */
  move(x, y) {
    this.x += x;
    this.y += y;
    this.draw();
  }

  draw(tell = true) {
    if (this.zoom <= 1) Object.assign(this, { x: 0.5, y: 0.5 });
    this.x = Math.max(0, Math.min(1, this.x));
    this.y = Math.max(0, Math.min(1, this.y));
    for (const stage of this.stages) stage.draw();
    if (tell) this.changed();
  }

  /** Do what a key stands for; says whether it stands for anything. */
  key(event) {
    const acts = { "+": () => this.larger(), "=": () => this.larger(), "-": () => this.smaller(), 0: () => this.fit(), 1: () => this.trueSize(), z: () => this.toggle() };
    if (this.zoom > 1) {
      const [first] = this.stages;
      const step = (way) => STEP / (way === "x" ? first.width * first.scale : first.height * first.scale);
      acts.ArrowLeft = () => this.move(-step("x"), 0);
      acts.ArrowRight = () => this.move(step("x"), 0);
      acts.ArrowUp = () => this.move(0, -step("y"));
      acts.ArrowDown = () => this.move(0, step("y"));
    }
    acts[event.key]?.();
    return event.key in acts;
  }
}

/** One image under a lens, with boxes drawn over it. */
export class Stage {
  constructor(lens, { address, width, height, label, missing }) {
    Object.assign(this, { lens, width: width || 0, height: height || 0, boxes: [] });
    this.image = make("img", { alt: label, draggable: "false", decoding: "async" });
    this.said = make("p", { class: "absent" }, missing ?? "");
    this.percent = make("span", { class: "scale" });
    this.element = make("div", { class: "stage" }, this.image, this.said, this.percent);
    this.fingers = new Map();
    lens.stages.push(this);
    if (address) this.load(address);
    this.listen();
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.element);
  }

  load(address) {
    this.image.addEventListener("load", () => {
      this.width = this.image.naturalWidth;
      this.height = this.image.naturalHeight;
      this.element.classList.add("here");
      this.draw();
    });
    this.image.addEventListener("error", () => { this.said.textContent = "The image does not load."; });
    this.image.src = address;
  }

  /** Draw these boxes: [{ box: [left, top, right, bottom] as fractions, text, colour }]. */
  show(boxes) {
    for (const { element } of this.boxes) element.remove();
    this.boxes = boxes.map((each) => {
      const element = make("div", { class: "box", data: { colour: (each.colour % COLOURS) + 1 } }, make("span", {}, each.text));
      this.element.append(element);
      return { ...each, element };
    });
    this.draw();
  }

  /** How much the image is enlarged when it fits. */
  get fits() {
    if (!this.width || !this.height) return null;
    const room = Math.min(this.element.clientWidth / this.width, this.element.clientHeight / this.height);
    return room >= 1 ? Math.max(1, Math.min(SMALL, Math.floor(room))) : room;
  }

  draw() {
    const { fits } = this;
    if (!fits || !this.element.clientWidth) return;
    this.scale = fits * this.lens.zoom;
    const [wide, high] = [this.width * this.scale, this.height * this.scale];
    const left = this.element.clientWidth / 2 - this.lens.x * wide;
    const top = this.element.clientHeight / 2 - this.lens.y * high;
    Object.assign(this.image.style, { width: `${this.width}px`, height: `${this.height}px` });
    this.image.style.transform = `translate(${left}px, ${top}px) scale(${this.scale})`;
    this.image.classList.toggle("crisp", this.scale >= 2);
    this.percent.textContent = `${Math.round(100 * this.scale)} %`;
    for (const { box: [x0, y0, x1, y1], element } of this.boxes) {
      Object.assign(element.style, {
        left: `${left + x0 * wide}px`,
        top: `${top + y0 * high}px`,
        width: `${(x1 - x0) * wide}px`,
        height: `${(y1 - y0) * high}px`,
      });
    }
  }

  /** Where an event is, as fractions of the image. */
  from(event) {
    const room = this.element.getBoundingClientRect();
    const [wide, high] = [this.width * this.scale, this.height * this.scale];
    return {
      x: this.lens.x + (event.clientX - room.left - room.width / 2) / wide,
      y: this.lens.y + (event.clientY - room.top - room.height / 2) / high,
    };
  }

  listen() {
    const { element, lens } = this;
    element.addEventListener("wheel", (event) => {
      if (!this.scale) return;
      event.preventDefault();
      const { x, y } = this.from(event);
      lens.zoomTo(lens.zoom * Math.exp(-event.deltaY / 400), x, y);
    }, { passive: false });
    element.addEventListener("dblclick", (event) => {
      if (!lens.isFit) return lens.fit();
      const { x, y } = this.from(event);
      return lens.zoomTo(3, x, y);
    });
    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId);
      this.fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    });
    element.addEventListener("pointermove", (event) => this.drag(event));
    for (const end of ["pointerup", "pointercancel"]) {
      element.addEventListener(end, (event) => this.fingers.delete(event.pointerId));
    }
  }

  drag(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before || !this.scale) return;
    const now = { x: event.clientX, y: event.clientY };
    const other = [...this.fingers].find(([id]) => id !== event.pointerId)?.[1];
    this.fingers.set(event.pointerId, now);
    if (!other) {
      this.lens.move((before.x - now.x) / (this.width * this.scale), (before.y - now.y) / (this.height * this.scale));
      return;
    }
    const apart = (a) => Math.hypot(a.x - other.x, a.y - other.y) || 1;
    const { x, y } = this.from({ clientX: other.x, clientY: other.y });
    this.lens.zoomTo((this.lens.zoom * apart(now)) / apart(before), x, y);
  }

  remove() {
    this.observer.disconnect();
    this.image.removeAttribute("src");
    this.lens.stages = this.lens.stages.filter((stage) => stage !== this);
    this.element.remove();
  }
}
