// How long a page has been in view. Hidden windows and open instructions do not count.

export class Timer {
  constructor() {
    this.spent = new Map();
    this.page = null;
    this.since = null;
    this.held = false;
    this.total = 0;
    document.addEventListener("visibilitychange", () => this.settle());
  }

  /** From now on this page is in view; none on a screen between pages. */
  show(page) {
    this.settle();
    this.page = page;
    this.settle();
  }

  /** Stop while something covers the page. */
  hold(covered) {
    this.settle();
    this.held = covered;
    this.settle();
  }

  /** Milliseconds the page in view has been looked at, earlier visits included. */
  taken() {
    this.settle();
    return Math.round(this.spent.get(this.page) ?? 0);
  }

  /** Seconds looked at pages since the window was opened. */
  seconds() {
    this.settle();
    return this.total / 1000;
  }

  settle() {
    const now = performance.now();
    if (this.since !== null && this.page !== null) {
      this.spent.set(this.page, (this.spent.get(this.page) ?? 0) + now - this.since);
      this.total += now - this.since;
    }
    const running = this.page !== null && !this.held && document.visibilityState === "visible";
    this.since = running ? now : null;
  }
}
