// One cell of the grid: a thumbnail with who made it, for which prompt, and the values that were asked for.

import { make } from "../shared/elements.js";
import { boxesOf } from "./evidence.js";
import { figure, name } from "./words.js";

/** A cell that can be filled again and again: nodes are made once. */
export function cell(thumbnails) {
  const parts = {
    image: make("img", { alt: "", draggable: "false", decoding: "async" }),
    none: make("span", { class: "none" }),
    marks: make("span", { class: "seen-marks", "aria-hidden": "true" }),
    verdict: make("span", { class: "seen-verdict" }),
    read: make("span", { class: "seen-text", dir: "auto" }),
    check: make("button", { type: "button", class: "check", tabindex: "-1", "aria-label": "Select" }),
    dot: make("i", { class: "dot", "aria-hidden": "true" }),
    who: make("bdi", { class: "name" }),
    which: make("span", { class: "which" }),
    text: make("span", { class: "text", dir: "auto" }),
    values: make("span", { class: "values" }),
  };
  const element = make(
    "div",
    { class: "cell", role: "gridcell", tabindex: "-1" },
    make("span", { class: "frame" }, parts.image, parts.none, parts.marks, parts.verdict, parts.read),
    parts.check,
    make("span", { class: "who" }, parts.dot, parts.who, parts.which),
    parts.text,
    parts.values,
  );
  element.parts = parts;
  element.thumbnails = thumbnails;
  return element;
}

/** Give a cell its row; `undefined` while it is loading, `null` where there is nothing. */
export function fill(element, row, { fields, colour, selected, current, failed = false }) {
  const { parts, thumbnails } = element;
  element.row = row;
  element.hidden = row === null;
  element.classList.toggle("loading", row === undefined);
  element.tabIndex = current ? 0 : -1;
  if (!row) {
    thumbnails.show(parts.image, null);
    element.setAttribute("aria-label", failed ? "not loaded" : "loading");
    element.removeAttribute("aria-selected");
    for (const part of [parts.none, parts.who, parts.which, parts.text]) part.textContent = "";
    parts.none.textContent = failed ? "not loaded" : "";
    parts.values.replaceChildren();
    see(parts, null);
    return;
  }
  element.dataset.key = row.key;
  // One prompt across systems: what the filters leave out is shown for comparison, but pale.
  element.classList.toggle("other", row.matches === false);
  element.setAttribute("aria-selected", String(selected));
  parts.check.setAttribute("aria-label", selected ? "Deselect" : "Select");
  parts.image.classList.toggle("crisp", Boolean(row.width) && Math.max(row.width, row.height) < 128);
  thumbnails.show(parts.image, row.thumb);
  see(parts, row);
  parts.none.textContent = row.thumb ? "" : absent(row);
  parts.dot.dataset.colour = colour(row.system);
  parts.who.textContent = row.system ?? "no prompt";
  parts.which.textContent = row.position ? `#${row.position + 1}` : "";
  parts.text.textContent = row.prompt ?? "";
  parts.values.replaceChildren(...fields.map((field) =>
    make("span", {}, make("span", { class: "of" }, field.label), make("b", {}, figure(row.values?.[field.id])))));
  const left = row.matches === false ? "left out by the filters" : "";
  const spoken = fields.map((field) => `${field.label} ${row.values?.[field.id] === null ? "not known" : figure(row.values?.[field.id])}`);
  const seen = row.seen ? [`verdict ${row.seen.verdict}`, row.seen.why, row.seen.corrected ? `corrected to ${row.seen.corrected}` : ""] : [];
  element.setAttribute("aria-label", [name(row), row.thumb ? "" : absent(row), left, ...seen, ...spoken].filter(Boolean).join(". "));
}

/** What the verdict on an image rests on, drawn over the thumbnail: boxes, what was read, yes or no. */
function see(parts, row) {
  const seen = row?.thumb ? row.seen : null;
  for (const part of [parts.marks, parts.verdict, parts.read]) part.hidden = !seen;
  parts.marks.replaceChildren();
  if (!seen) return;
  // The thumbnail fits into a square: the boxes are within what it takes of it.
  const longer = Math.max(row.width || 1, row.height || 1);
  const [wide, high] = [(row.width || longer) / longer, (row.height || longer) / longer];
  Object.assign(parts.marks.style, { left: `${50 * (1 - wide)}%`, top: `${50 * (1 - high)}%`, width: `${100 * wide}%`, height: `${100 * high}%` });
  parts.marks.append(...boxesOf(seen.boxes).map(({ box: [x0, y0, x1, y1], text }) => {
    const mark = make("i", { class: "seen-mark", title: text });
    Object.assign(mark.style, { left: `${100 * x0}%`, top: `${100 * y0}%`, width: `${100 * (x1 - x0)}%`, height: `${100 * (y1 - y0)}%` });
    return mark;
  }));
  parts.verdict.dataset.said = seen.corrected ?? seen.verdict;
  parts.verdict.textContent = seen.corrected ? `${seen.verdict} → ${seen.corrected}` : seen.verdict;
  parts.verdict.title = seen.why;
  parts.read.textContent = seen.text.length ? `read: ${seen.text.join(" / ")}` : "";
}

/** Why there is no picture to see. */
export function absent(row) {
  if (row.failure) return `no image: ${row.failure}`;
  if (row.defect) return `damaged: ${row.defect}`;
  return "the image file is missing";
}
