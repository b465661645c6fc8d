// Rows of the current state, fetched in windows and kept while they are near.

import { get } from "../shared/api.js";
import { asked } from "./state.js";

const WINDOW = 120;
const KEPT = 48;

export class Rows {
  /** `onRows` is called when rows have come, `onProblem` when they have not. */
  constructor(onRows, onProblem) {
    this.onRows = onRows;
    this.onProblem = onProblem;
    this.reset(null);
  }

  /** Forget everything: another state. */
  reset(query) {
    for (const { control } of this.windows?.values() ?? []) control?.abort();
    this.query = query;
    this.total = null;
    this.systems = [];
    this.windows = new Map();
  }

  /** Whether this is another state than the one whose rows are here. */
  follow(state) {
    const query = asked(state);
    if (query === this.query) return false;
    this.reset(query);
    return true;
  }

  at(index) {
    return this.windows.get(Math.floor(index / WINDOW))?.rows?.[index % WINDOW] ?? null;
  }

  /** Whether a row has failed to come. */
  failed(index) {
    return Boolean(this.windows.get(Math.floor(index / WINDOW))?.failed);
  }

  /** Fetch what is missing of these rows; let go of what is no longer waited for. */
  want(first, last) {
    const from = Math.floor(Math.max(0, first) / WINDOW);
    const to = Math.floor(Math.max(0, last) / WINDOW);
    for (const [number, window] of this.windows) {
      if (window.control && (number < from - 1 || number > to + 1)) {
        window.control.abort();
        this.windows.delete(number);
      }
    }
    for (let number = from; number <= to; number += 1) {
      if (this.total !== null && number * WINDOW >= this.total && number > 0) break;
      if (!this.windows.has(number)) this.fetch(number);
    }
  }

  /** Try again what failed. */
  retry() {
    for (const [number, window] of this.windows) if (window.failed) this.windows.delete(number);
  }

  /** All rows from one place to another, waited for. */
  async between(first, last) {
    const numbers = [];
    for (let number = Math.floor(first / WINDOW); number <= Math.floor(last / WINDOW); number += 1) numbers.push(number);
    const windows = await Promise.all(numbers.map((number) => this.load(number)));
    const rows = windows.flat();
    return rows.slice(first - numbers[0] * WINDOW, last - numbers[0] * WINDOW + 1);
  }

  async load(number) {
    const known = this.windows.get(number)?.rows;
    if (known) return known;
    return (await get(this.address(number))).rows;
  }

  address(number) {
    const window = new URLSearchParams({ offset: number * WINDOW, limit: WINDOW });
    return `/api/view/rows?${[this.query, window].filter(String).join("&")}`;
  }

  async fetch(number) {
    const control = new AbortController();
    const window = { control };
    this.windows.set(number, window);
    try {
      const page = await get(this.address(number), {}, control.signal);
      if (this.windows.get(number) !== window) return;
      this.windows.delete(number);
      this.windows.set(number, { rows: page.rows });
      this.total = page.total;
      this.systems = page.systems ?? [];
      this.forget(number);
      this.onRows();
    } catch (problem) {
      if (control.signal.aborted || this.windows.get(number) !== window) return;
      this.windows.set(number, { failed: true });
      this.onProblem(problem);
    }
  }

  /** Keep the windows nearest to this one. */
  forget(number) {
    const far = [...this.windows.keys()].sort((a, b) => Math.abs(b - number) - Math.abs(a - number));
    for (const each of far.slice(0, Math.max(0, far.length - KEPT))) {
      if (this.windows.get(each).rows) this.windows.delete(each);
    }
  }
}
