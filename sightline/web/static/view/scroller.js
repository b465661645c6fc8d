// A table of any length of which only the lines in view exist. Lines that leave are filled again for those that come.

// Browsers cannot make an element taller than some 17 to 33 million pixels; beyond this, one pixel of the bar is several.
const TALLEST = 12_000_000;
const SPARE = 2;

export class Scroller {
  /** `area` holds the lines, in `port`, which scrolls; `build()` makes a line, `fill(line, number)` gives it its content,
   *  `clear(line)` takes it away, `moved(first, last)` tells which lines are in view. */
  constructor(port, area, { build, fill, clear, moved }) {
    Object.assign(this, { port, area, build, fill, clear, moved });
    this.lines = new Map();
    this.spare = [];
    this.count = 0;
    this.height = 100;
    port.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(port);
  }

  /** So many lines of this height; `again` makes them from scratch. */
  resize(count, height, again = false) {
    if (again) {
      for (const line of [...this.lines.values(), ...this.spare]) {
        this.clear(line);
        line.remove();
      }
      this.lines.clear();
      this.spare = [];
    }
    Object.assign(this, { count, height });
    this.area.style.height = `${Math.min(TALLEST, count * height)}px`;
    this.draw();
  }

  get view() {
    return this.port.clientHeight;
  }

  /** How many pixels of the lines one pixel of the bar stands for. */
  get gear() {
    const real = this.count * this.height;
    return real <= TALLEST ? 1 : (real - this.view) / (TALLEST - this.view);
  }

  /** How far the lines are scrolled, in their own pixels; negative while what is above them is in view. */
  get top() {
    return (this.port.scrollTop - this.area.offsetTop) * this.gear;
  }

  get first() {
    return Math.max(0, Math.min(this.count - 1, Math.floor((this.top + this.height / 3) / this.height)));
  }

  scrollTo(line) {
    this.port.scrollTop = line === 0 ? 0 : this.area.offsetTop + (line * this.height) / this.gear;
    this.draw();
  }

  /** Scroll no further than needed to see a line. `above` is covered at the top. */
  reveal(line, above = 0) {
    const start = line * this.height;
    if (start < this.top + above) this.port.scrollTop = this.area.offsetTop + (start - above) / this.gear;
    else if (start + this.height > this.top + this.view) {
      this.port.scrollTop = this.area.offsetTop + (start + this.height - this.view) / this.gear;
    } else return;
    this.draw();
  }

  draw() {
    // What is measured is measured before anything changes, or the browser lays the page out twice.
    const bar = this.port.scrollTop - this.area.offsetTop;
    const { view } = this;
    const top = bar * this.gear;
    const first = Math.max(0, Math.floor(top / this.height) - SPARE);
    const last = Math.min(this.count - 1, Math.ceil((top + view) / this.height) + SPARE);
    for (const [number, line] of this.lines) {
      if (number >= first && number <= last) continue;
      // A line that has the focus stays, or the keyboard would lose its place.
      if (line.contains(document.activeElement) && number < this.count) continue;
      this.lines.delete(number);
      this.clear(line);
      line.hidden = true;
      this.spare.push(line);
    }
    for (let number = first; number <= last; number += 1) {
      let line = this.lines.get(number);
      if (!line) {
        line = this.spare.pop() ?? this.area.appendChild(this.build());
        line.hidden = false;
        this.lines.set(number, line);
        this.fill(line, number);
      }
      line.style.transform = `translateY(${number * this.height - top + bar}px)`;
    }
    this.moved(first, last);
  }

  /** Fill all lines again: rows have come, or look different now. */
  refresh() {
    for (const [number, line] of this.lines) this.fill(line, number);
  }
}
