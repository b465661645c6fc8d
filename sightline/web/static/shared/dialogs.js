// What opens over a page: waiting until it is closed, and asking before what a click cannot undo.

import { make, the } from "./elements.js";

/** Open a dialog; ends when it is closed, with the value of the button that closed it. */
export function closed(dialog) {
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true });
  });
}

/** Ask whether to do it: { reason } if yes, else null. `reason` asks for one. */
export async function sure({ title, text, yes, reason = false, danger = true }) {
  const why = make("textarea", { id: "ask-reason", rows: 3, maxlength: 500, required: true });
  const dialog = make("dialog", { id: "ask", "aria-labelledby": "ask-title", "aria-describedby": "ask-text" },
    make("form", { method: "dialog" },
      make("h2", { id: "ask-title" }, title),
      make("p", { id: "ask-text" }, text),
      reason ? make("label", {}, "Reason", why) : null,
      make("div", { class: "buttons" },
        make("button", { value: "no", class: "plain", formnovalidate: true }, "Cancel"),
        make("button", { value: "yes", class: danger ? "primary danger" : "primary", id: "ask-yes" }, yes))));
  document.body.append(dialog);
  const answer = await closed(dialog);
  dialog.remove();
  return answer === "yes" ? { reason: why.value.trim() } : null;
}

/** Put a text on the clipboard from a field that holds it. */
export async function copy(field) {
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    // Without https a page may not use the clipboard; the older way still works there.
    document.execCommand("copy");
  }
}

const leaving = new Map();

/** A message for eyes and screen readers alike, that leaves when it is done. */
export function say(text, { where = "said", lasts = 8_000 } = {}) {
  const shown = the(where);
  // The same words twice are otherwise not read out twice.
  shown.textContent = "";
  shown.hidden = !text;
  requestAnimationFrame(() => { shown.textContent = text; });
  clearTimeout(leaving.get(where));
  leaving.set(where, setTimeout(() => {
    shown.textContent = "";
    shown.hidden = true;
  }, lasts));
}
