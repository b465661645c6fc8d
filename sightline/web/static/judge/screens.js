// What is shown between tasks: a rest, a pause, the end, or waiting for more.

import { serverNow } from "./api.js";
import { count, make, the } from "../shared/elements.js";

const LOOK_AGAIN_MS = 10_000;

export class Screens {
  /** `again` asks the server for work; `back` opens the earlier tasks. */
  constructor(again, back) {
    this.again = again;
    this.back = back;
    this.ticking = null;
  }

  get isShown() {
    return !the("screen").hidden;
  }

  leave() {
    clearInterval(this.ticking);
    this.shown = null;
    the("screen").hidden = true;
    the("page").hidden = false;
  }

  /** The screen that fits how things stand. */
  show(progress, { reached, denied }) {
    const resting = progress?.rest_until && Date.parse(progress.rest_until) > serverNow();
    if (denied) this.denied(denied);
    else if (!reached) this.waiting("No connection at the moment.", "Your answers are kept in this browser.");
    else if (progress.state === "paused") this.paused();
    else if (resting) this.rest(progress);
    else if (progress.state === "finished") this.finished(progress);
    else this.waiting("No task for you right now.", "It may be assigned to somebody else. This page looks again by itself.");
  }

  rest(progress) {
    const clock = make("p", { class: "clock", role: "timer", "aria-live": "off" });
    const until = Date.parse(progress.rest_until);
    const tick = () => {
      const left = Math.max(0, Math.ceil((until - serverNow()) / 1000));
      clock.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
      if (left === 0) this.again();
    };
    this.put("rest", [
      make("h2", { tabindex: "-1" }, "Time for a rest"),
      make("p", {}, `${count(progress.pages_done, "task")} done. Tired eyes judge badly: look out of a window.`),
      clock,
      make("p", { class: "quiet" }, "It goes on by itself. You can also close this window and come back later."),
    ]);
    this.every(1_000, tick);
    tick();
  }

  paused() {
    this.put("paused", [
      make("h2", { tabindex: "-1" }, "Paused"),
      make("p", {}, "The people who lead this study have paused it. All your answers are kept."),
      make("p", { class: "quiet" }, "It goes on by itself as soon as they resume."),
    ]);
    this.every(LOOK_AGAIN_MS, this.again);
  }

  finished(progress) {
    this.put("finished", [
      make("h2", { tabindex: "-1" }, "Thank you"),
      make("p", {}, `That was all: you have judged ${count(progress.pages_done, "task")}.`),
      make("p", { class: "quiet" }, "You may close this window."),
    ]);
  }

  waiting(title, text) {
    this.put("waiting", [
      make("h2", { tabindex: "-1" }, title),
      make("p", {}, text),
      make("button", { type: "button", class: "primary", onclick: () => this.again() }, "Ask again"),
    ]);
    this.every(LOOK_AGAIN_MS / 2, this.again);
  }

  denied(error) {
    this.put("denied", [
      make("h2", { tabindex: "-1" }, "This link is no longer valid here"),
      make("p", {}, [error.message, error.remedy].filter(Boolean).join(" ")),
      make("p", { class: "quiet" }, "Answers that were not sent yet are kept in this browser."),
    ]);
  }

  put(name, parts) {
    clearInterval(this.ticking);
    // Asked again with the same outcome: leave the screen, and the focus, as they are.
    if (this.shown === name && name !== "rest") return;
    this.shown = name;
    const earlier = make("button", { type: "button", class: "plain", onclick: () => this.back() }, "Earlier tasks");
    const all = ["denied", "waiting"].includes(name) ? parts : [...parts, earlier];
    the("screen").replaceChildren(make("div", { class: name }, ...all));
    the("page").hidden = true;
    the("screen").hidden = false;
    the("screen").querySelector("h2").focus();
  }

  every(interval, act) {
    clearInterval(this.ticking);
    this.ticking = setInterval(act, interval);
  }
}
