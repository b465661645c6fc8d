// The order so far, best first: small images in a row, those that share a place together.

import { make, the } from "../shared/elements.js";

export class Order {
  /** `activate` makes the thing of a number the active one. */
  constructor(pictures, activate) {
    Object.assign(this, { pictures, activate });
    this.list = the("order");
    the("order-part").hidden = false;
  }

  /** Show things in the order of their places; null is none yet. */
  show(things, places) {
    const taken = [...new Set(places.filter((place) => place !== null))].sort((a, b) => a - b);
    const groups = taken.map((place) => things.map((_, n) => n).filter((n) => places[n] === place));
    const open = places.filter((place) => place === null).length;
    this.list.style.setProperty("--count", things.length);
    this.list.replaceChildren(
      ...groups.map((members) => make("li", { class: "place" }, ...members.map((n) => this.small(things, n)))),
      ...Array.from({ length: open }, () => make("li", { class: "place", "aria-hidden": "true" }, make("i"))),
    );
  }

  small(things, n) {
    const image = make("img", { alt: things[n].name, draggable: "false" });
    this.pictures.load(things[n].slot.images[0]).then(
      (address) => {
        image.src = address;
      },
      () => {},
    );
    return make("button", { type: "button", tabindex: "-1", onclick: () => this.activate(n) }, image);
  }
}
