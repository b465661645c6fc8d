// What opens over the page: instructions with examples, the reason for a skip, and refused answers.

import { closed } from "../shared/dialogs.js";
import { keycap, make, the } from "../shared/elements.js";
import { KEYS } from "./keyboard.js";
import { stands } from "./questions.js";

/** Fill the instructions once; open() shows them and ends when they are closed. */
export class Instructions {
  constructor(task) {
    this.dialog = the("instructions");
    the("instructions-title").textContent = task.title;
    the("instructions-text").replaceChildren(
      ...task.instructions.split(/\n+/).map((text) => make("p", {}, text)),
    );
    the("examples").replaceChildren(...task.examples.map(example));
    the("examples-part").hidden = task.examples.length === 0;
    the("keys").replaceChildren(...keys(task));
    the("begin").addEventListener("click", () => this.dialog.close());
  }

  open(first) {
    the("begin").textContent = first ? "Begin" : "Go on";
    const read = closed(this.dialog);
    this.dialog.scrollTop = 0;
    the("begin").focus({ preventScroll: true });
    return read;
  }
}

function example({ shown, answer, why, image }) {
  return make(
    "li",
    {},
    image ? make("img", { src: image, alt: "", loading: "lazy" }) : null,
    make(
      "div",
      {},
      make("p", { class: "shown" }, shown),
      make("p", { class: "right" }, make("span", {}, "Answer: "), make("strong", {}, answer)),
      why ? make("p", { class: "why" }, why) : null,
    ),
  );
}

function keys(task) {
  const own = Object.entries(task.keys).map(([key, value]) => {
    const labels = task.questions.flatMap((question) => question.labels);
    return [key, labels.find((label) => stands(value, label))?.text ?? value];
  });
  const taken = new Set(Object.keys(task.keys));
  const generic = KEYS.filter(([, , holds]) => holds(task)).map(([key, does]) =>
    taken.has(key) ? ["Ctrl+Z", "undo the last answer"] : [key, does],
  );
  return [...own, ...generic].map(([key, does]) =>
    make("div", {}, make("dt", {}, ...key.split(" ").map(spoken)), make("dd", {}, does)),
  );
}

function spoken(key) {
  const cap = keycap(key);
  cap.removeAttribute("aria-hidden");
  return cap;
}

/** Ask why a task is skipped; null if it is not after all. */
export async function askReason(reasons) {
  const dialog = the("skip");
  const other = the("skip-other");
  const text = the("skip-text");
  const radio = (reason, n) =>
    make(
      "label",
      {},
      make("input", { type: "radio", name: "reason", value: reason, required: true, checked: n === 0 }),
      make("span", {}, reason),
    );
  the("skip-reasons").replaceChildren(...reasons.map(radio));
  other.checked = reasons.length === 0;
  text.value = "";
  text.oninput = () => {
    other.checked = true;
  };
  if ((await closed(dialog)) !== "skip") return null;
  const chosen = dialog.querySelector("input[name=reason]:checked");
  const why = chosen === other ? text.value.trim() : chosen?.value;
  return why || "another reason";
}

const NOTES = {
  comment: { title: "A comment on this task", save: "Save", remove: "Remove the comment" },
  flag: { title: "What is wrong with this task?", save: "Flag it", remove: "Remove the flag" },
};
const NO_REASON = "no reason given";

/** Ask for a comment or the reason of a flag; null if it stays as it is, an empty text to remove it. */
export async function askNote(kind, before) {
  const { title, save, remove } = NOTES[kind];
  the("note-title").textContent = title;
  the("note-save").textContent = save;
  the("note-remove").textContent = remove;
  the("note-remove").hidden = before === "";
  the("note-text").value = before === NO_REASON ? "" : before;
  the("note-text").required = kind === "comment";
  const asked = closed(the("note"));
  the("note-text").focus();
  const answer = await asked;
  const said = the("note-text").value.trim() || (kind === "flag" ? NO_REASON : "");
  return { save: said, remove: "" }[answer] ?? null;
}

/** Show what the server refused, and why; then it is put away. */
export async function showRefused(queue, deck) {
  const dialog = the("refused");
  const lines = queue.aside().map(({ page, slot = 0, value, skipped, reason, kind }) => {
    const number = deck.pages.get(page)?.number;
    const where = number === undefined ? "An earlier task" : `Task ${number}`;
    const what = skipped === undefined || skipped === null ? `answer ${value}` : `“${skipped}”`;
    if (kind) return make("li", {}, make("strong", {}, `${where}, ${kind}: `), reason);
    return make("li", {}, make("strong", {}, `${where}, image ${slot + 1}, ${what}: `), reason);
  });
  the("refused-list").replaceChildren(...lines);
  if ((await closed(dialog)) === "forget") queue.forgetAside();
}
