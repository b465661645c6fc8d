// Answers on their way to the server. Each is stored in the browser before anything else happens and leaves only
// with a receipt, so that neither a cut network nor a closed window loses one.
//
// Several tabs share one queue without a lock: a request always begins with the oldest answer, items are removed
// one by one by their key, and the server knows an answer that comes twice by the same key.

import { Denied, Unreachable, post } from "./api.js";

const WAITING = "answer/";
const ASIDE = "aside/";
const MOST = 50;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
const SHUT_OUT_WAIT_MS = 60_000;
/** Only these say that the answer itself is wrong: too large, or not as the contract has it. */
const AT_FAULT = [413, 422];

/** Remarks have a kind, answers have a question. */
const sorted = (items) => ({
  answers: items.filter((item) => !item.kind),
  remarks: items.filter((item) => item.kind),
});

/** A key no other answer has. Over plain http browsers offer no randomUUID, but they do offer random bytes. */
export function freshKey() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const drawn = crypto.getRandomValues(new Uint8Array(16));
  return [...drawn].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Events: "change" (what waits, or whether the server is reached), "receipts" (progress and new pages), "refused"
 *  (answer). */
export class Queue extends EventTarget {
  constructor(kept) {
    super();
    this.kept = kept;
    this.latest = 0;
    this.sending = null;
    this.wait = FIRST_WAIT_MS;
    this.timer = null;
    this.reached = true;
    this.shutOut = null;
    addEventListener("online", () => {
      this.found();
      this.hurry();
    });
    addEventListener("offline", () => this.lost());
  }

  /** Keep an answer, then send it. */
  add(answer) {
    const whole = { key: freshKey(), ...answer };
    this.kept.put(`${WAITING}${this.place()}/${whole.key}`, whole);
    this.changed();
    this.hurry();
  }

  /** What waits, oldest first. */
  waiting() {
    return this.kept.names(WAITING).map((name) => ({ name, answer: this.kept.get(name) }));
  }

  /** What the server refused, until the person has seen it. */
  aside() {
    return this.kept.names(ASIDE).map((name) => this.kept.get(name));
  }

  forgetAside() {
    this.kept.names(ASIDE).forEach((name) => this.kept.remove(name));
    this.changed();
  }

  /** Send now, whatever the waiting time says. */
  hurry() {
    this.wait = FIRST_WAIT_MS;
    return this.send();
  }

  /** Send until nothing waits or the server cannot be reached. */
  send() {
    clearTimeout(this.timer);
    this.sending ??= this.run().finally(() => {
      this.sending = null;
    });
    return this.sending;
  }

  async run() {
    let most = MOST;
    for (let batch = this.batch(most); batch.length; batch = this.batch(most)) {
      try {
        this.received(batch, await post("/api/answers", sorted(batch.map((item) => item.answer))));
        most = MOST;
      } catch (error) {
        if (!AT_FAULT.includes(error.status)) {
          this.later(error);
          return;
        }
        // Whatever is wrong with one answer must not hold up the others: find it by sending one at a time.
        if (batch.length === 1) this.refuse(batch[0], error.message);
        most = 1;
      }
    }
  }

  batch(most) {
    return this.waiting()
      .filter((item) => item.answer !== null)
      .slice(0, most);
  }

  received(batch, reply) {
    this.reached = true;
    this.shutOut = null;
    this.wait = FIRST_WAIT_MS;
    const byKey = new Map(reply.receipts.map((receipt) => [receipt.key, receipt]));
    for (const item of batch) {
      const receipt = byKey.get(item.answer.key);
      if (receipt?.status === "refused") this.refuse(item, receipt.reason ?? "no reason was given");
      else if (receipt) this.kept.remove(item.name);
    }
    if (!batch.some((item) => byKey.has(item.answer.key))) throw new Unreachable("there was no receipt");
    this.changed();
    this.dispatchEvent(new CustomEvent("receipts", { detail: reply }));
  }

  refuse(item, reason) {
    this.kept.put(ASIDE + item.answer.key, { ...item.answer, reason });
    this.kept.remove(item.name);
    this.changed();
    this.dispatchEvent(new CustomEvent("refused", { detail: item.answer }));
  }

  /** Try again after a while: longer and longer, and longest where the server knows us no more. */
  later(error) {
    this.shutOut = error instanceof Denied ? error : null;
    this.timer = setTimeout(() => this.send(), this.shutOut ? SHUT_OUT_WAIT_MS : this.wait);
    this.wait = Math.min(2 * this.wait, LONGEST_WAIT_MS);
    this.lost();
  }

  /** The server answered something else. */
  found() {
    this.reached = true;
    this.changed();
  }

  lost() {
    this.reached = false;
    this.changed();
  }

  changed() {
    this.dispatchEvent(new Event("change"));
  }

  /** A name that sorts after all names given before, even if the clock is set back. */
  place() {
    const last = this.kept.names(WAITING).at(-1);
    const before = last ? Number(last.slice(WAITING.length).split("/")[0]) : 0;
    this.latest = Math.max(Date.now(), this.latest + 1, before + 1);
    return String(this.latest).padStart(15, "0");
  }
}
