// Images of the pages at hand, fetched ahead and held, so that a page appears at once and without the network.

import { bytes } from "./api.js";

const AT_ONCE = 4;

export class Pictures {
  constructor() {
    this.held = new Map();
    this.queue = [];
    this.running = 0;
  }

  /** An address for an <img>; one that failed before is tried again. */
  load(address) {
    const known = this.held.get(address);
    if (known && !known.failed) {
      // What somebody waits for goes before what is fetched ahead.
      const place = this.queue.indexOf(known);
      if (place > 0) this.queue.unshift(...this.queue.splice(place, 1));
      return known.promise;
    }
    return this.start(address, true);
  }

  /** Fetch these, in order, and let go of everything else. */
  keep(addresses) {
    const wanted = new Set(addresses);
    for (const [address, picture] of this.held) {
      if (wanted.has(address)) continue;
      this.held.delete(address);
      this.queue = this.queue.filter((waiting) => waiting !== picture);
      picture.promise.then((url) => URL.revokeObjectURL(url), () => {});
    }
    for (const address of addresses) {
      const known = this.held.get(address);
      if (!known || known.failed) this.start(address, false).catch(() => {});
    }
  }

  start(address, first) {
    const picture = { address, failed: false };
    picture.promise = new Promise((resolve, reject) => Object.assign(picture, { resolve, reject }));
    this.held.set(address, picture);
    if (first) this.queue.unshift(picture);
    else this.queue.push(picture);
    this.pump();
    return picture.promise;
  }

  async pump() {
    if (this.running >= AT_ONCE || !this.queue.length) return;
    const picture = this.queue.shift();
    this.running += 1;
    try {
      picture.resolve(URL.createObjectURL(await bytes(picture.address)));
    } catch (error) {
      picture.failed = true;
      picture.reject(error);
    } finally {
      this.running -= 1;
      this.pump();
    }
    this.pump();
  }
}
