// Judging: which page is in view, what a choice means, and where to go next.

import { Denied, get, post, serverNow } from "./api.js";
import { Deck } from "./deck.js";
import { Instructions, askReason, showRefused } from "./dialogs.js";
import { the } from "../shared/elements.js";
import { Header } from "./header.js";
import { LinkedPrompts } from "./linked.js";
import { Message } from "./message.js";
import { Pictures } from "./pictures.js";
import { Remarks } from "./remarks.js";
import { Screens } from "./screens.js";
import { isLabel } from "./questions.js";
import { Timer } from "./timer.js";
import { View, nameOf } from "./view.js";
import { Zoom } from "../shared/zoom.js";

const FEW = 3;
const SEEN_MS = 140;
const OVERDUE_MS = 4_000;

export class Session {
  constructor(task, work, kept, queue) {
    Object.assign(this, { task, kept, queue, progress: work.progress });
    this.deck = new Deck(task.questions);
    this.pictures = new Pictures();
    this.timer = new Timer();
    this.header = new Header(task);
    this.instructions = new Instructions(task);
    this.screens = new Screens(() => this.proceed(), () => this.back());
    this.view = new View(task, this.deck, this.pictures, {
      choose: (slot, question, given) => this.choose(slot, question, given),
      enlarge: (slot, at) => this.enlarge(slot, at),
      activate: (n) => this.view.activate(n, { focus: false }),
    });
    this.message = new Message();
    this.remarks = new Remarks(this);
    this.zoom = new Zoom((address) => this.pictures.load(address), (event) => this.answerInZoom(event), this.remarks.marking);
    this.linked = new LinkedPrompts(this.pictures, (images, at) => this.zoom.open(images, at));
    this.page = null;
    this.given = [];
    this.doneHere = 0;
    this.browsing = false;
    this.undone = null;
    this.fetching = null;
    // From this number on all of this annotator's pages are known here.
    this.earliest = Infinity;
    this.deck.merge(work.pages, true);
    queue.waiting().forEach(({ answer }) => answer && this.know(answer));
    this.listen();
    this.status();
  }

  /** Take over an answer or a remark that this browser keeps. */
  know(kept) {
    if (kept.kind) this.deck.remark(kept);
    else this.deck.note(kept);
  }

  get isJudging() {
    return this.page !== null && !this.screens.isShown;
  }

  listen() {
    const { queue } = this;
    queue.addEventListener("change", () => this.keeping());
    queue.addEventListener("receipts", ({ detail }) => this.received(detail));
    queue.addEventListener("refused", ({ detail }) => this.refused(detail));
    the("next").addEventListener("click", () => this.next());
    the("back").addEventListener("click", () => this.back());
    the("undo").addEventListener("click", () => this.undo());
    the("skip-page").addEventListener("click", () => this.askToSkip());
    the("help").addEventListener("click", () => this.instruct());
    the("resume").addEventListener("click", () => this.proceed());
    the("aside").addEventListener("click", () => showRefused(queue, this.deck));
    the("show-original").addEventListener("click", () => this.toggleOriginal());
    the("show-linked").addEventListener("click", () => this.toggleLinked());
    the("language").addEventListener("change", (event) => this.speak(event.target.value));
    addEventListener("pagehide", () => this.view.flush());
    // Another tab of the same person: what is answered there is known here.
    addEventListener("storage", ({ key, newValue }) => this.elsewhere(key, newValue));
    setInterval(() => this.header.time(this.progress.seconds + this.timer.seconds()), 5_000);
  }

  // -- answering --------------------------------------------------------------------------------------

  choose(slot, question, given) {
    const { page } = this;
    const before = this.deck.answer(page, slot, question);
    const was = this.deck.isDone(page);
    const { value = null, skipped = null } = given;
    if (before?.value !== value || before?.skipped !== skipped) this.record(page, slot, question, given);
    const again = this.undone?.page === page;
    this.undone = null;
    this.message.hush();
    this.view.refresh();
    this.zoom.close();
    if (question.slider) return;
    if (!this.deck.isDone(page)) this.view.activate(this.view.nextOpen());
    else if (this.isOneDecision && (!was || again)) this.afterAMoment(page);
    else if (!was) the("next").focus({ preventScroll: true });
    else this.message.say("Changed.");
  }

  record(page, slot, question, given) {
    const was = this.deck.isDone(page);
    const answer = { page: page.page, slot: slot.slot, question: question.name, ...given };
    this.queue.add({ ...answer, took_ms: this.timer.taken() });
    this.deck.note(answer);
    this.given.push({ page, slot, question });
    if (!was && this.deck.isDone(page)) this.doneHere += 1;
    this.status();
  }

  get isOneDecision() {
    return this.task.questions.length === 1 && this.page.slots.length === 1;
  }

  /** Go on by itself where there is only one thing to decide, once the choice has been seen. */
  afterAMoment(page) {
    this.browsing = false;
    clearTimeout(this.moment);
    this.moment = setTimeout(() => this.page === page && this.isJudging && this.next(), SEEN_MS);
  }

  answerByKey(event) {
    return this.view.current()?.key(event) ?? false;
  }

  answerInZoom(event) {
    if (this.zoom.images !== this.enlarged || event.repeat) return false;
    if (this.view.isOrder) this.view.activate(this.zoom.at, { focus: false });
    return this.answerByKey(event);
  }

  /** Back to the answer given last, to change it; until it is changed it stands. */
  undo() {
    clearTimeout(this.moment);
    this.view.flush();
    const last = this.given.pop();
    if (!last) {
      this.message.say("There is no answer to undo since this window was opened. Page Up shows earlier tasks.");
      return;
    }
    const { page, slot, question } = last;
    this.browsing = !this.deck.open().includes(page);
    this.open(page);
    this.undone = { page };
    this.view.activate(page.slots.indexOf(slot));
    this.view.things[this.view.active].controls.find((each) => each.question.name === question.name)?.focus()?.focus();
    const answer = this.deck.answer(page, slot, question);
    const label = question.labels.find((each) => isLabel(each, answer))?.text ?? answer?.value;
    this.message.say(label == null ? "Choose again." : `Choose again; until then “${label}” stands.`);
  }

  async askToSkip() {
    const { page } = this;
    this.view.flush();
    if (this.deck.isDone(page)) {
      this.message.say("Everything in this task is answered already.");
      return;
    }
    this.timer.hold(true);
    const skipped = await askReason(this.task.skip_reasons);
    this.timer.hold(false);
    if (skipped === null || this.page !== page) return;
    this.deck.missing(page).forEach(({ slot, question }) => this.record(page, slot, question, { skipped }));
    this.next();
  }

  // -- going on and back --------------------------------------------------------------------------------

  /** Show the first open page, or the screen that fits if there is none at hand. */
  async proceed() {
    this.browsing = false;
    const [first] = this.deck.open();
    if (first && !this.mustStop()) {
      this.open(first);
      this.lookAhead();
      return;
    }
    const state = await this.fetch();
    // Somebody who went back meanwhile is not to be torn away.
    if (this.browsing) return;
    const [now] = this.deck.open();
    if (now && !this.mustStop()) this.open(now);
    else this.stop(state);
  }

  mustStop() {
    const { state, rest_until: rest } = this.progress;
    return state === "paused" || (rest !== null && Date.parse(rest) > serverNow());
  }

  stop(state) {
    this.timer.show(null);
    this.page = null;
    this.screens.show(this.progress, state);
  }

  /** The next page, once this one is answered. */
  next() {
    clearTimeout(this.moment);
    this.view.flush();
    if (!this.deck.isDone(this.page)) {
      this.message.say(this.view.leftInWords());
      this.view.toMissing();
      return;
    }
    this.forward();
  }

  /** One page on while looking at earlier ones, else the first open one. */
  forward() {
    this.view.flush();
    const after = this.browsing ? this.deck.after(this.page) : null;
    if (!this.browsing && !this.deck.isDone(this.page)) this.message.say(this.view.leftInWords());
    else if (after && this.deck.isDone(after)) this.open(after);
    else this.proceed();
  }

  /** One page back, asking the server for it if need be. */
  async back() {
    clearTimeout(this.moment);
    this.view.flush();
    const from = this.page;
    let before = this.deck.before(from);
    const adjacent = before && from && before.number === from.number - 1;
    if (!adjacent && !(before?.number >= this.earliest)) {
      await this.fetchEarlier(from);
      before = this.deck.before(from);
    }
    if (!before) {
      this.message.say("This is your first task.");
      return;
    }
    this.browsing = true;
    this.open(before);
  }

  async fetchEarlier(from) {
    const limit = Math.min(this.earliest, from?.number ?? Infinity);
    if (limit <= 1) return;
    try {
      const { pages } = await get(`/api/pages?last=20${Number.isFinite(limit) ? `&before=${limit}` : ""}`);
      this.deck.merge(pages);
      this.earliest = Math.min(...pages.map((page) => page.number), pages.length ? Infinity : 0);
    } catch (error) {
      this.message.say(`Earlier tasks do not load: ${error.message}.`);
    }
  }

  open(page) {
    this.screens.leave();
    if (this.page !== page) {
      this.linked.close();
      this.view.flush();
      this.message.hush();
    }
    this.page = page;
    this.undone = null;
    this.timer.show(page.page);
    this.view.active = 0;
    this.view.show(page, this.progress.language);
    const first = Math.max(0, this.view.nextOpen());
    // At the top of a page its text comes first.
    this.view.activate(first, { scroll: first > 0 });
    the("resume").hidden = !this.browsing;
    the("number").textContent = this.browsing ? `Task ${page.number}` : "";
    this.keepPictures();
  }

  /** Hold the images of this page, the ones ahead and the one before. */
  keepPictures() {
    const before = this.deck.before(this.page);
    const near = [this.page, ...this.deck.open(), ...(before ? [before] : [])];
    const addresses = near.flatMap((page) => page.slots.flatMap((slot) => slot.images));
    this.pictures.keep([...new Set(addresses)]);
  }

  // -- the server ---------------------------------------------------------------------------------------

  /** Ask for more pages when few are left. */
  lookAhead() {
    if (this.deck.open().length < FEW) this.fetch();
  }

  /** Fetch open pages, after the answers that may have closed some. Says what stood in the way. */
  fetch() {
    this.fetching ??= this.askForWork().finally(() => {
      this.fetching = null;
    });
    return this.fetching;
  }

  async askForWork() {
    await this.queue.hurry();
    try {
      const work = await get("/api/work");
      this.queue.found();
      this.received(work);
      return { reached: true };
    } catch (error) {
      if (error instanceof Denied) return { denied: error };
      return { reached: false };
    }
  }

  /** Take over pages that were assigned, and how far one is. */
  received({ progress, pages }) {
    this.deck.merge(pages, true);
    this.heard(progress);
    if (pages.length && this.page) this.keepPictures();
  }

  heard(progress) {
    this.progress = { ...progress, seconds: this.progress.seconds };
    // What waits is not in the server's count yet.
    const waiting = new Set(this.queue.waiting().map(({ answer }) => answer?.page));
    this.doneHere = 0;
    for (const page of this.deck.pages.values()) {
      if (page.state !== "open" || !this.deck.isDone(page)) continue;
      if (waiting.has(page.page)) this.doneHere += 1;
      else page.state = "done";
    }
    this.status();
  }

  refused(answer) {
    this.deck.refused(answer);
    this.message.say("An answer was not accepted. It is listed at the top of the page.");
  }

  elsewhere(key, text) {
    if (!key?.startsWith(this.kept.prefix)) return;
    try {
      const answer = JSON.parse(text ?? "null");
      if (answer?.page && answer.reason === undefined) this.know(answer);
    } catch {
      return;
    }
    if (this.isJudging) this.view.refresh();
    this.keeping();
  }

  async speak(language) {
    try {
      this.heard(await post("/api/language", { language: language || null }));
      const [work, earlier] = await Promise.all([get("/api/work"), get("/api/pages?last=20")]);
      this.deck.merge(work.pages, true);
      this.deck.merge(earlier.pages);
      if (this.page) this.open(this.page);
    } catch (error) {
      this.message.say(`The language stays as it is: ${error.message}.`);
      the("language").value = this.progress.language ?? "";
    }
  }

  // -- around the page ----------------------------------------------------------------------------------

  enlarge(slot = null, at = 0) {
    const things = this.view.things;
    const one = slot ? things.findIndex((thing) => thing.slot === slot) : this.view.active;
    this.view.activate(one, { focus: false });
    // What is put in order is leafed through at the same size.
    const { isOrder } = this.view;
    const shown = isOrder ? things : [things[one]];
    this.enlarged = shown.flatMap((thing) =>
      thing.slot.images.map((address, n) => ({
        address,
        name: nameOf(this.task.layout, things.indexOf(thing), n, things.length),
        slot: thing.slot,
        part: n,
        boxes: this.deck.noted(this.page, "regions", thing.slot.slot, n).boxes,
      })),
    );
    this.zoom.open(this.enlarged, isOrder ? one : at);
  }

  async instruct(first = false) {
    this.timer.hold(true);
    await this.instructions.open(first);
    this.timer.hold(false);
    if (this.isJudging) this.view.activate(this.view.active, { scroll: false });
  }

  toggleOriginal() {
    if (!this.view.toggleOriginal()) this.message.say("This text is shown as it was written.");
  }

  toggleLinked() {
    if (this.linked.isOpen) this.linked.close();
    else if (the("show-linked").hidden) this.message.say("This text builds on no other.");
    else this.linked.open(this.page.page, this.view.things[this.view.active].slot.slot);
  }

  closeLinked() {
    this.linked.close();
  }

  status() {
    this.header.progress(this.progress, this.doneHere);
    this.header.time(this.progress.seconds + this.timer.seconds());
    the("language").value = this.progress.language ?? "";
    this.keeping();
  }

  keeping() {
    clearTimeout(this.overdue);
    this.message.check();
    this.header.keeping(this.queue, false);
    this.overdue = setTimeout(() => this.header.keeping(this.queue, true), OVERDUE_MS);
  }
}
