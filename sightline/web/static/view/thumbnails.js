// Thumbnails: a few at a time, the latest wanted first; what is scrolled past is not waited for.

const AT_ONCE = 8;

export class Thumbnails {
  constructor() {
    this.waiting = [];
    this.loading = new Map();
  }

  /** Show the image of this address in an <img>, or nothing. */
  show(image, address) {
    if (image.dataset.wanted === (address ?? "")) return;
    this.drop(image);
    image.dataset.wanted = address ?? "";
    image.classList.remove("here");
    if (!address) return;
    this.waiting.push(image);
    this.pump();
  }

  /** Stop waiting for the image of this <img>: the browser ends its request. */
  drop(image) {
    const place = this.waiting.indexOf(image);
    if (place >= 0) this.waiting.splice(place, 1);
    this.loading.get(image)?.();
    image.removeAttribute("src");
    image.dataset.wanted = "";
  }

  pump() {
    while (this.loading.size < AT_ONCE && this.waiting.length) this.start(this.waiting.shift());
  }

  start(image) {
    const address = image.dataset.wanted;
    const ends = new AbortController();
    const done = (here) => {
      ends.abort();
      this.loading.delete(image);
      if (here !== undefined) {
        image.classList.toggle("here", here);
        image.closest(".frame")?.classList.toggle("broken", !here);
      }
      queueMicrotask(() => this.pump());
    };
    image.addEventListener("load", () => done(true), { signal: ends.signal });
    image.addEventListener("error", () => done(false), { signal: ends.signal });
    this.loading.set(image, () => done());
    image.src = address;
  }
}
