// What is noted about a task besides its answers: a comment, a flag, regions of its images.

import { the } from "../shared/elements.js";
import { askNote } from "./dialogs.js";

const DONE = { comment: "Your comment is kept.", flag: "The task is flagged. Please judge it all the same, or skip it." };

export class Remarks {
  constructor(session) {
    this.session = session;
    this.offered = session.task.remarks;
    /** What the enlarged image tells of regions, where they are asked for. */
    this.marking = this.offered.includes("regions") ? (image, boxes) => this.marked(image, boxes) : null;
    for (const kind of ["comment", "flag"]) {
      the(kind).hidden = !this.offered.includes(kind);
      the(kind).addEventListener("click", () => this.ask(kind));
    }
  }

  /** Ask for a comment, or for what is wrong. */
  async ask(kind) {
    const { deck, message, page, timer, view } = this.session;
    if (!this.offered.includes(kind)) return;
    view.flush();
    const before = deck.noted(page, kind).text;
    timer.hold(true);
    const text = await askNote(kind, before);
    timer.hold(false);
    if (this.session.page === page) view.activate(view.active, { scroll: false });
    if (text === null || text === before) return;
    this.note(page, { kind, text });
    message.say(text === "" ? "Removed." : DONE[kind]);
  }

  /** Open the image in focus to mark regions on it. */
  mark() {
    if (!this.marking) return;
    this.session.enlarge();
    this.session.zoom.marking(true);
  }

  marked(image, boxes) {
    image.boxes = boxes.map((box) => [...box]);
    this.note(this.session.page, { kind: "regions", slot: image.slot.slot, part: image.part, boxes: image.boxes });
  }

  note(page, given) {
    const { deck, queue, view } = this.session;
    const remark = { page: page.page, slot: 0, part: 0, text: "", boxes: [], ...given };
    queue.add(remark);
    deck.remark(remark);
    if (this.session.page === page) view.refresh();
  }
}
