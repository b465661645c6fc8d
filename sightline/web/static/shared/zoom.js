// One image over the whole window: plus and minus, wheel, two fingers or a double press to enlarge, drag to move or,
// where that is asked for, to mark a region.

import { make, the } from "./elements.js";
import { fitting, isSmall } from "./fit.js";
import { Marks } from "./marks.js";

const MOST = 12;
const FACTOR = 1.4;
const MOVE = 80;
const HINT =
  "Drag over what you mean. With keys: Enter adds a region, arrows move it, Shift and arrows change its size, " +
  "Delete removes it.";

function frame() {
  const round = (id, label, sign, more = {}) =>
    make("button", { type: "button", class: "round", id, "aria-label": label, ...more }, sign);
  const mark = { type: "button", class: "plain", id: "zoom-mark", "aria-pressed": "false", "aria-keyshortcuts": "m" };
  return make("dialog", { id: "zoom", "aria-label": "Enlarged image" },
    make("div", { id: "zoom-stage", tabindex: "-1", autofocus: true },
      make("div", { id: "zoom-frame" },
        make("img", { id: "zoom-image", alt: "", draggable: "false" }),
        make("div", { id: "zoom-marks" }))),
    make("p", { id: "zoom-hint", role: "status", hidden: true }, HINT),
    make("p", { class: "bar" },
      make("span", { id: "zoom-name", role: "status" }),
      make("button", { ...mark, hidden: true }, "Mark regions ", make("kbd", { "aria-hidden": "true" }, "m")),
      round("zoom-before", "Previous image", "‹"),
      round("zoom-after", "Next image", "›"),
      round("zoom-out", "Smaller", "−"),
      make("span", { id: "zoom-size" }),
      round("zoom-in", "Larger", "+"),
      round("zoom-close", "Close", "×", { "aria-keyshortcuts": "Escape" })));
}

export class Zoom {
  /**
   * `load` gives what an <img> shows for an address; `choose` takes a key and says whether it meant something; `mark`
   * is given an image and its regions, where these can be marked.
   */
  constructor(load = (address) => address, choose = () => false, mark = null) {
    Object.assign(this, { load, choose, mark, fit: 1 });
    this.dialog = frame();
    document.body.append(this.dialog);
    this.stage = the("zoom-stage");
    this.image = the("zoom-image");
    this.frame = the("zoom-frame");
    this.marks = new Marks(the("zoom-marks"), (boxes) => this.mark(this.images[this.at], boxes));
    this.image.addEventListener("load", () => this.measure());
    addEventListener("resize", () => this.isOpen && this.measure());
    the("zoom-mark").addEventListener("click", () => this.marking(!this.marks.on));
    this.dialog.addEventListener("close", () => this.marks.flush());
    this.fingers = new Map();
    this.dialog.addEventListener("keydown", (event) => this.key(event));
    this.stage.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.stage.addEventListener("pointerdown", (event) => this.down(event));
    this.stage.addEventListener("pointermove", (event) => this.drag(event));
    for (const end of ["pointerup", "pointercancel"]) {
      this.stage.addEventListener(end, (event) => {
        this.fingers.delete(event.pointerId);
        this.marks.up(event);
      });
    }
    this.stage.addEventListener("dblclick", (event) => {
      if (!this.marks.on) this.scaleTo(this.isNear ? 3 * this.fit : this.fit, this.from(event));
    });
    the("zoom-in").addEventListener("click", () => this.scaleTo(this.scale * FACTOR));
    the("zoom-out").addEventListener("click", () => this.scaleTo(this.scale / FACTOR));
    the("zoom-before").addEventListener("click", () => this.turn(-1));
    the("zoom-after").addEventListener("click", () => this.turn(1));
    the("zoom-close").addEventListener("click", () => this.close());
  }

  get isOpen() {
    return this.dialog.open;
  }

  /** Show one of these images: [{ address, name }]. */
  open(images, at) {
    this.images = images;
    this.at = at;
    for (const id of ["zoom-before", "zoom-after"]) the(id).hidden = images.length < 2;
    the("zoom-mark").hidden = !this.markable;
    this.ratio = 1;
    this.dialog.showModal();
    this.marking(false);
    this.reset();
    this.show();
  }

  get markable() {
    return this.mark !== null && this.images.every((image) => image.slot);
  }

  /** Whether all of the image is in view. */
  get isNear() {
    return this.scale <= this.fit * 1.001;
  }

  /** Mark regions, or leave that. */
  marking(on) {
    this.marks.on = on && this.markable;
    this.stage.classList.toggle("marking", this.marks.on);
    the("zoom-mark").setAttribute("aria-pressed", String(this.marks.on));
    the("zoom-hint").hidden = !this.marks.on;
    this.marks.draw();
  }

  /** The image has come, or the window has changed: fit it, at the size relative to that as before. */
  measure() {
    if (!this.image.naturalWidth) return;
    this.fit = fitting(this.stage.getBoundingClientRect(), this.image);
    this.scale = this.fit * this.ratio;
    this.draw();
  }

  close() {
    if (this.isOpen) this.dialog.close();
  }

  async show() {
    const { address, name, boxes = [] } = this.images[this.at];
    this.marks.flush();
    this.marks.show(boxes);
    the("zoom-name").textContent = name;
    this.image.alt = name;
    try {
      this.image.src = await this.load(address);
    } catch {
      the("zoom-name").textContent = `${name}: this image does not load`;
    }
  }

  /** The next image at the same place and size, so that differences show. */
  turn(way) {
    this.at = (this.at + way + this.images.length) % this.images.length;
    this.show();
  }

  reset() {
    Object.assign(this, { scale: this.fit, ratio: 1, x: 0, y: 0 });
    this.draw();
  }

  scaleTo(scale, { x, y } = { x: 0, y: 0 }) {
    const wanted = Math.min(MOST * this.fit, Math.max(this.fit, scale));
    const share = wanted / this.scale;
    // The point under the finger stays where it is.
    this.x = x - (x - this.x) * share;
    this.y = y - (y - this.y) * share;
    this.scale = wanted;
    this.ratio = wanted / this.fit;
    this.draw();
  }

  move(x, y) {
    this.x += x;
    this.y += y;
    this.draw();
  }

  draw() {
    const room = this.stage.getBoundingClientRect();
    const sides = [this.image.naturalWidth, this.image.naturalHeight];
    const [width, height] = sides.map((side) => (side * this.scale) / devicePixelRatio);
    const most = { x: Math.max(0, (width - room.width) / 2), y: Math.max(0, (height - room.height) / 2) };
    this.x = Math.max(-most.x, Math.min(most.x, this.x));
    this.y = Math.max(-most.y, Math.min(most.y, this.y));
    this.frame.classList.toggle("crisp", isSmall(this.scale));
    Object.assign(this.frame.style, {
      width: `${width}px`,
      height: `${height}px`,
      transform: `translate(-50%, -50%) translate(${this.x}px, ${this.y}px)`,
    });
    // One pixel of the image on one pixel of the screen is 100 %.
    the("zoom-size").textContent = `${Math.round(100 * this.scale)} %`;
  }

  /** Where an event is, from the middle of the stage. */
  from(event) {
    const room = this.stage.getBoundingClientRect();
    return { x: event.clientX - room.left - room.width / 2, y: event.clientY - room.top - room.height / 2 };
  }

  wheel(event) {
    event.preventDefault();
    this.scaleTo(this.scale * Math.exp(-event.deltaY / 400), this.from(event));
  }

  down(event) {
    if (event.target.closest(".box")) return;
    this.stage.setPointerCapture(event.pointerId);
    if (this.marks.on && !this.fingers.size) this.marks.down(event);
    this.fingers.set(event.pointerId, this.from(event));
  }

  drag(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    const now = this.from(event);
    const other = [...this.fingers].find(([id]) => id !== event.pointerId)?.[1];
    this.fingers.set(event.pointerId, now);
    if (!other && this.marks.on) {
      this.marks.drag(event);
      return;
    }
    if (!other) {
      this.move(now.x - before.x, now.y - before.y);
      return;
    }
    const apart = (a) => Math.hypot(a.x - other.x, a.y - other.y) || 1;
    this.scaleTo((this.scale * apart(now)) / apart(before), other);
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const near = this.isNear;
    const acts = {
      "+": () => this.scaleTo(this.scale * FACTOR),
      "=": () => this.scaleTo(this.scale * FACTOR),
      "-": () => this.scaleTo(this.scale / FACTOR),
      0: () => this.reset(),
      z: () => this.close(),
      ...(this.markable ? { m: () => this.marking(!this.marks.on) } : {}),
      ArrowLeft: () => (near ? this.turn(-1) : this.move(MOVE, 0)),
      ArrowRight: () => (near ? this.turn(1) : this.move(-MOVE, 0)),
      ArrowUp: () => this.move(0, MOVE),
      ArrowDown: () => this.move(0, -MOVE),
    };
    const button = event.target instanceof HTMLButtonElement;
    if (event.key === " " && !button) acts[" "] = acts.z;
    if (this.marks.on && !button) acts.Enter = () => this.marks.add();
    if (this.marks.on) acts.Escape = () => this.marking(false);
    const act = acts[event.key];
    if (act) act();
    else if (!this.choose(event)) return;
    event.preventDefault();
    event.stopPropagation();
  }
}
