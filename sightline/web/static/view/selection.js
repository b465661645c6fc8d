// What is selected: some rows by their keys, or everything that matches.

export class Selection {
  /** `changed` is called after a change. */
  constructor(changed) {
    this.changed = changed;
    this.clear(false);
  }

  clear(tell = true) {
    this.keys = new Set();
    this.everything = null;
    this.anchor = null;
    this.range = [];
    if (tell) this.changed();
  }

  has(key) {
    return key !== undefined && (this.everything !== null || this.keys.has(key));
  }

  get size() {
    return this.everything?.n ?? this.keys.size;
  }

  /** All n images that match; `query` says which. */
  all(query, n) {
    this.clear(false);
    this.everything = { query, n };
    this.changed();
  }

  /** What the server is asked to act on. */
  get target() {
    return this.everything ? { state: this.everything.query } : { keys: [...this.keys] };
  }

  leave() {
    this.anchor = null;
    this.range = [];
  }

  startAt(place) {
    this.anchor ??= { ...place };
  }

  toggle(place) {
    const key = this.board.rowOf(place.item, place.part)?.key;
    if (key) this.toggleKey(key, place);
  }

  toggleKey(key, place = null) {
    if (this.everything) this.clear(false);
    if (!this.keys.delete(key)) this.keys.add(key);
    this.anchor = place && { ...place };
    this.range = [];
    this.changed();
  }

  /** Select from where the selection began to here, and no longer what an earlier step beyond selected. */
  async extendTo(place) {
    this.startAt(place);
    const { parts } = this.board.plan;
    const ends = [this.anchor, place].map(({ item, part }) => item * parts + part).sort((a, b) => a - b);
    const turn = Symbol("turn");
    this.turn = turn;
    const items = await this.board.rows.between(Math.floor(ends[0] / parts), Math.floor(ends[1] / parts));
    if (this.turn !== turn) return;
    const rows = items.flatMap((item) => item.cells ?? ("a" in item ? [item.a, item.b] : [item]));
    const start = ends[0] % parts;
    if (this.everything) this.clear(false);
    for (const key of this.range) this.keys.delete(key);
    this.range = rows.slice(start, start + ends[1] - ends[0] + 1).filter(Boolean).map((row) => row.key);
    for (const key of this.range) this.keys.add(key);
    this.changed();
  }
}
