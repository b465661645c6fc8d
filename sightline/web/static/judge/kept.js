// Small things kept in this browser under one prefix. Where it keeps nothing (private windows, a full disk),
// they live as long as the page, and `lasting` says so.

export class Kept {
  constructor(prefix) {
    this.prefix = prefix;
    this.memory = new Map();
    this.lasting = true;
  }

  put(name, value) {
    const text = JSON.stringify(value);
    try {
      localStorage.setItem(this.prefix + name, text);
      this.memory.delete(name);
    } catch {
      this.memory.set(name, text);
      this.lasting = false;
    }
  }

  get(name) {
    const text = this.memory.get(name) ?? this.stored(name);
    try {
      return text === null ? null : JSON.parse(text);
    } catch {
      return null;
    }
  }

  remove(name) {
    this.memory.delete(name);
    try {
      localStorage.removeItem(this.prefix + name);
    } catch {
      // It was never kept.
    }
  }

  /** Every name that begins so, in order. */
  names(start = "") {
    const found = new Set([...this.memory.keys()]);
    try {
      for (let n = 0; n < localStorage.length; n += 1) {
        const key = localStorage.key(n);
        if (key.startsWith(this.prefix)) found.add(key.slice(this.prefix.length));
      }
    } catch {
      // Only what is in memory, then.
    }
    return [...found].filter((name) => name.startsWith(start)).sort();
  }

  stored(name) {
    try {
      return localStorage.getItem(this.prefix + name);
    } catch {
      return null;
    }
  }
}
