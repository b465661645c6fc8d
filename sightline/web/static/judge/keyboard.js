// Which key does what. Keys of the mode come first: where it takes `u` for "unsure", Ctrl+Z still undoes.

import { the } from "../shared/elements.js";

/** The keys of the page itself, as the instructions list them: key, what it does, and whether a task has it. */
export const KEYS = [
  ["1 2 3 …", "choose, or set the slider in focus", () => true],
  ["← → ↑ ↓", "move between images", (task) => !isSliding(task)],
  ["← →", "move the slider in focus by a step, with Shift by ten", isSliding],
  ["↑ ↓", "go to the slider above or below (or Tab)", (task) => isSliding(task) && task.questions.length > 1],
  ["Enter", "go to what is missing; once all is answered, to the next task", () => true],
  ["u", "undo the last answer: give it again (or Ctrl+Z)", () => true],
  ["PageUp", "previous task, to look at it or to change it (or p); PageDown leads on", () => true],
  ["z", "enlarge the image (or Space); + and − change its size, Escape closes", () => true],
  ["m", "mark regions: drag, or Enter and then arrows, Shift+arrows, Delete", (task) => task.remarks.includes("regions")],
  ["c", "write a comment", (task) => task.remarks.includes("comment")],
  ["f", "flag the task: something is wrong with it", (task) => task.remarks.includes("flag")],
  ["s", "skip the task and say why", () => true],
  ["o", "the text as it was written, where it is translated", (task) => task.languages.length > 0],
  ["l", "images of the simpler texts this one builds on", (task) => task.linked],
  ["?", "these instructions", () => true],
];

function isSliding(task) {
  return task.questions.some((question) => question.slider);
}

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
  // A page of keys must not become a step of a slider.
  if (["PageUp", "PageDown"].includes(key) && event.repeat) return true;
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
      session.back();
      return true;
    case "PageDown":
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
    p: () => session.back(),
    c: () => session.remarks.ask("comment"),
    f: () => session.remarks.ask("flag"),
    m: () => session.remarks.mark(),
    Escape: () => session.closeLinked(),
  };
  const chosen = acts[key.length === 1 ? key.toLowerCase() : key];
  chosen?.();
  return chosen !== undefined;
}

function arrows(session, key, slider) {
  const view = session.view;
  if (slider) return false;
  if (view.things.length < 2) return reachSlider(view, key);
  const far = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -view.columns(), ArrowDown: view.columns() }[key];
  if (far === undefined) return false;
  const to = view.active + far;
  if (to >= 0 && to < view.things.length) view.activate(to);
  return true;
}

/** An arrow while no slider has the focus goes to the one that is next to answer. */
function reachSlider(view, key) {
  if (!key.startsWith("Arrow") || !view.current()?.question.slider) return false;
  view.current().focus().focus();
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
  if (key === "p" || key === "PageUp") session.back();
  else if (key === "?") session.instruct();
  else if (key === "Enter" && !isControl(target)) the("screen").querySelector("button")?.click();
  else return false;
  return true;
}
