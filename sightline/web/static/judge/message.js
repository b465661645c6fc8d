// What the page says to whoever judges, for eyes and screen readers alike.

import { the } from "../shared/elements.js";

const LASTS = 6_000;

export class Message {
  /** It leaves after a while, or once `until` says so. */
  say(text, until = null) {
    this.hush();
    this.until = until;
    // The same words twice are otherwise not read out twice.
    this.saying = requestAnimationFrame(() => { the("said").textContent = text; });
    this.leaving = setTimeout(() => this.hush(), LASTS);
  }

  /** Something was sent: what was said may be done. */
  check() {
    if (this.until?.()) this.hush();
  }

  /** What was said is done. */
  hush() {
    cancelAnimationFrame(this.saying);
    clearTimeout(this.leaving);
    this.until = null;
    the("said").textContent = "";
  }
}
