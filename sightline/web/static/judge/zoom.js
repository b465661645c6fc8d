// One image over the whole window: plus and minus, wheel, two fingers or a double press to enlarge, drag to move.

import { the } from "./elements.js";

const MOST = 12;
const FACTOR = 1.4;
const MOVE = 80;

export class Zoom {
  /** `load` gives the address of an image; `choose` takes a key that answers and says whether it did. */
  constructor(load, choose) {
    this.load = load;
    this.choose = choose;
    this.dialog = the("zoom");
    this.stage = the("zoom-stage");
    this.image = the("zoom-image");
    this.fingers = new Map();
    this.dialog.addEventListener("keydown", (event) => this.key(event));
    this.stage.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.stage.addEventListener("pointerdown", (event) => this.down(event));
    this.stage.addEventListener("pointermove", (event) => this.drag(event));
    for (const end of ["pointerup", "pointercancel"]) {
      this.stage.addEventListener(end, (event) => this.fingers.delete(event.pointerId));
    }
    this.stage.addEventListener("dblclick", (event) => {
      this.scaleTo(this.scale > 1 ? 1 : 3, this.from(event));
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
    this.reset();
    for (const id of ["zoom-before", "zoom-after"]) the(id).hidden = images.length < 2;
    this.dialog.showModal();
    this.show();
  }

  close() {
    if (this.isOpen) this.dialog.close();
  }

  async show() {
    const { address, name } = this.images[this.at];
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
    Object.assign(this, { scale: 1, x: 0, y: 0 });
    this.draw();
  }

  scaleTo(scale, { x, y } = { x: 0, y: 0 }) {
    const wanted = Math.min(MOST, Math.max(1, scale));
    const share = wanted / this.scale;
    // The point under the finger stays where it is.
    this.x = x - (x - this.x) * share;
    this.y = y - (y - this.y) * share;
    this.scale = wanted;
    this.draw();
  }

  move(x, y) {
    this.x += x;
    this.y += y;
    this.draw();
  }

  draw() {
    const room = this.stage.getBoundingClientRect();
    const most = { x: (room.width * (this.scale - 1)) / 2, y: (room.height * (this.scale - 1)) / 2 };
    this.x = Math.max(-most.x, Math.min(most.x, this.x));
    this.y = Math.max(-most.y, Math.min(most.y, this.y));
    this.image.style.transform = `translate(${this.x}px, ${this.y}px) scale(${this.scale})`;
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
    this.stage.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, this.from(event));
  }

  drag(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    const now = this.from(event);
    const other = [...this.fingers].find(([id]) => id !== event.pointerId)?.[1];
    this.fingers.set(event.pointerId, now);
    if (!other) {
      this.move(now.x - before.x, now.y - before.y);
      return;
    }
    const apart = (a) => Math.hypot(a.x - other.x, a.y - other.y) || 1;
    this.scaleTo((this.scale * apart(now)) / apart(before), other);
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const near = this.scale <= 1;
    const acts = {
      "+": () => this.scaleTo(this.scale * FACTOR),
      "=": () => this.scaleTo(this.scale * FACTOR),
      "-": () => this.scaleTo(this.scale / FACTOR),
      0: () => this.reset(),
      z: () => this.close(),
      ArrowLeft: () => (near ? this.turn(-1) : this.move(MOVE, 0)),
      ArrowRight: () => (near ? this.turn(1) : this.move(-MOVE, 0)),
      ArrowUp: () => this.move(0, MOVE),
      ArrowDown: () => this.move(0, -MOVE),
    };
    const button = event.target instanceof HTMLButtonElement;
    if (event.key === " " && !button) acts[" "] = acts.z;
    const act = acts[event.key];
    if (act) act();
    else if (!this.choose(event)) return;
    event.preventDefault();
    event.stopPropagation();
  }
}
