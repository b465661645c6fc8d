// What a measure saw: boxes to draw over the image, and the rest in words.

import { make } from "../shared/elements.js";
import { figure } from "./words.js";

/** All boxes in what a measure gave as evidence, however deep: [{ box, text }]. */
export function boxesOf(evidence) {
  if (Array.isArray(evidence)) return evidence.flatMap(boxesOf);
  if (evidence === null || typeof evidence !== "object") return [];
  const { box } = evidence;
  if (Array.isArray(box) && box.length === 4 && box.every(Number.isFinite)) return [{ box, text: caption(evidence) }];
  return Object.values(evidence).flatMap(boxesOf);
}

function caption({ label, kind, text, confidence }) {
  const sure = Number.isFinite(confidence) ? ` ${Math.round(100 * confidence)} %` : "";
  return `${label ?? kind ?? text ?? ""}${sure}`.trim();
}

/** Evidence without its boxes, as a list of names and values; null if nothing is left. */
export function rest(evidence) {
  const left = without(evidence);
  return left === undefined ? null : listed(left);
}

// Everything but the boxes, which are drawn.
function without(evidence) {
  if (evidence === null || evidence === undefined || evidence === "") return undefined;
  if (Array.isArray(evidence)) {
    const left = evidence.map(without).filter((each) => each !== undefined);
    return left.length ? left : undefined;
  }
  if (typeof evidence !== "object") return evidence;
  if (Array.isArray(evidence.box)) return undefined;
  const left = Object.entries(evidence).map(([name, value]) => [name, without(value)]).filter(([, value]) => value !== undefined);
  return left.length ? Object.fromEntries(left) : undefined;
}

/** Any value as text, lists and names as lists. */
export function listed(given) {
  if (typeof given === "boolean") return given ? "yes" : "no";
  if (given === null || typeof given !== "object") return typeof given === "number" ? figure(given) : String(given ?? "–");
  if (Array.isArray(given)) {
    if (given.every((each) => each === null || typeof each !== "object")) return given.map(listed).join(", ");
    return make("ul", { class: "listed" }, given.map((each) => make("li", {}, listed(each))));
  }
  return make("dl", { class: "pairs" }, Object.entries(given).map(([name, value]) =>
    make("div", {}, make("dt", {}, name.replaceAll("_", " ")), make("dd", { dir: "auto" }, listed(value)))));
}
