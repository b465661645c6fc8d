// Which key does what. Keys of the mode come first: where it takes `u` for "unsure", Ctrl+Z still undoes.

import { the } from "./elements.js";

/** The keys of the page itself, as the instructions list them. */
export const KEYS = [
  ["1 2 3 …", "choose"],
  ["← → ↑ ↓", "move between images, or move the slider"],
  ["Enter", "next task, once all is answered"],
  ["u", "undo the last answer (or Ctrl+Z)"],
  ["z", "enlarge the image (or Space); + and − change its size, Escape closes"],
  ["Backspace", "look at earlier tasks (or PageUp)"],
  ["s", "skip the task and say why"],
  ["o", "the text as it was written, where it is translated"],
  ["l", "images of the simpler texts this one builds on"],
  ["?", "these instructions"],
];

export function listen(session) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") {
      event.preventDefault();
      session.undo();
      return;
    }
    if (event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target)) return;
    if (act(session, event)) event.preventDefault();
  });
}

const isTyping = (target) => target.matches("textarea, select, input:not([type=range])");
const isControl = (target) => target.closest("button, a, summary, input") !== null;

/** Do what a key stands for; says whether it stands for anything here. */
function act(session, event) {
  const { key, target } = event;
  if (!session.isJudging) return onScreen(session, key, target);
  // A key held down must not answer page after page.
  if (!event.repeat && session.answerByKey(event)) return true;
  const slider = target.matches("input[type=range]");
  if (arrows(session, key, slider)) return true;
  if (event.repeat) return false;
  switch (key) {
    case "Enter":
      return enter(session, target);
    case " ":
      if (isControl(target)) return false;
      session.enlarge();
      return true;
    case "PageUp":
      if (slider) return false;
      session.back();
      return true;
    case "PageDown":
      if (slider) return false;
      session.forward();
      return true;
    default:
      return plainKey(session, key);
  }
}

function plainKey(session, key) {
  const acts = {
    u: () => session.undo(),
    z: () => session.enlarge(),
    s: () => session.askToSkip(),
    o: () => session.toggleOriginal(),
    l: () => session.toggleLinked(),
    "?": () => session.instruct(),
    Backspace: () => session.back(),
    Escape: () => session.closeLinked(),
  };
  const chosen = acts[key.length === 1 ? key.toLowerCase() : key];
  chosen?.();
  return chosen !== undefined;
}

function arrows(session, key, slider) {
  const view = session.view;
  if (slider || view.things.length < 2) return false;
  const far = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -view.columns(), ArrowDown: view.columns() }[key];
  if (far === undefined) return false;
  const to = view.active + far;
  if (to >= 0 && to < view.things.length) view.activate(to);
  return true;
}

function enter(session, target) {
  const pressed = target.closest("button");
  // On a button that is not yet taken, Enter presses it; on one that is, it goes on.
  const takes = pressed && !(pressed.matches(".choice[aria-pressed=true]") || pressed === the("next"));
  if (takes) return false;
  session.next();
  return true;
}

function onScreen(session, key, target) {
  if (key === "Backspace" || key === "PageUp") session.back();
  else if (key === "?") session.instruct();
  else if (key === "Enter" && !isControl(target)) the("screen").querySelector("button")?.click();
  else return false;
  return true;
}
