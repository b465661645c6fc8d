// The tasks at hand, each a page, and what has been answered. What was answered here counts more than what the
// server says, since it may not have received it yet.

export class Deck {
  constructor(questions) {
    this.questions = questions;
    this.pages = new Map();
    this.said = new Map();
    this.remarks = new Map();
    this.closed = new Set();
  }

  /** Take over what the server sent; a page it offers again is open again. A known page stays the same object. */
  merge(pages, offered = false) {
    for (const page of pages) {
      const known = this.pages.get(page.page);
      if (known) {
        const slots = known.slots.map((slot, n) => Object.assign(slot, page.slots[n]));
        Object.assign(known, page, { slots });
      } else {
        this.pages.set(page.page, page);
      }
      if (offered) this.closed.delete(page.page);
    }
  }

  /** Note an answer given in this browser. */
  note({ page, slot, question, value = null, skipped = null }) {
    this.said.set(place(page, slot, question), { value, skipped });
  }

  /** Note a remark made in this browser. */
  remark({ page, kind, slot = 0, part = 0, text = "", boxes = [] }) {
    this.remarks.set(`${page}/${kind}/${slot}/${part}`, { kind, slot, part, text, boxes });
  }

  /** What was noted about a page, or about an image of it: { text, boxes }. */
  noted(page, kind, slot = 0, part = 0) {
    const here = this.remarks.get(`${page.page}/${kind}/${slot}/${part}`);
    const known = page.noted?.find((each) => each.kind === kind && each.slot === slot && each.part === part);
    return here ?? known ?? { text: "", boxes: [] };
  }

  /** Forget what the server refused; its page is left alone until it is offered again. */
  refused({ page, slot, question, kind, part }) {
    if (kind) {
      this.remarks.delete(`${page}/${kind}/${slot ?? 0}/${part ?? 0}`);
      return;
    }
    this.said.delete(place(page, slot, question));
    this.closed.add(page);
  }

  /** The answer to a question about a thing: { value, skipped }, or null. */
  answer(page, slot, question) {
    const here = this.said.get(place(page.page, slot.slot, question.name));
    return here ?? slot.given.find((given) => given.question === question.name) ?? null;
  }

  /** Every (slot, question) of a page that has no answer. */
  missing(page) {
    return page.slots.flatMap((slot) =>
      this.questions
        .filter((question) => this.answer(page, slot, question) === null)
        .map((question) => ({ slot, question })),
    );
  }

  isDone(page) {
    return this.missing(page).length === 0;
  }

  /** Known pages by number. */
  inOrder() {
    return [...this.pages.values()].sort((a, b) => a.number - b.number);
  }

  /** Pages still to be judged, by number. */
  open() {
    return this.inOrder().filter((page) => !this.closed.has(page.page) && !this.isDone(page));
  }

  /** The page after this one, or none. */
  after(page) {
    return this.inOrder().find((other) => other.number > page.number && !this.closed.has(other.page)) ?? null;
  }

  /** The page before this one that is known, or none; without a page, the last that is done. */
  before(page) {
    const fits = page ? (other) => other.number < page.number : (other) => this.isDone(other);
    return this.inOrder().findLast(fits) ?? null;
  }
}

const place = (page, slot, question) => `${page}/${slot}/${question}`;
