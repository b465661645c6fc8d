// Values and names as people read them.

import { count, value } from "../shared/elements.js";

export const STATES = [
  ["ok", "with an image"],
  ["failed", "no image: the system failed"],
  ["no-file", "image file is missing"],
  ["defect", "image file is damaged"],
  ["unjudged", "not judged yet"],
  ["unanswered", "image without a prompt"],
];

export const GROUPS = { people: "What people said", measures: "Measures", predictions: "Predictions", tags: "Tags", answers: "Answers and images" };

/** A number with as many digits as it takes to read it; − for minus. */
export function figure(given) {
  if (given === null || given === undefined) return "–";
  if (typeof given !== "number") return String(given);
  const size = Math.abs(given);
  if (Number.isInteger(given)) return size < 1e15 ? count(given).replace("-", "−") : given.toExponential(2).replace("-", "−");
  if (size >= 1e6 || size < 1e-3) return given.toExponential(2).replaceAll("-", "−");
  return size < 1000 ? given.toPrecision(3).replace("-", "−") : value(Math.round(given));
}

export const better = (direction) => ({ higher: "higher is better", lower: "lower is better" })[direction] ?? "no direction";

/** "0.2 to 0.8", "at least 0.2", "at most 0.8". */
export function rangeWords({ low, high, none }) {
  if (none) return "no value";
  if (low === null) return `at most ${figure(high)}`;
  if (high === null) return `at least ${figure(low)}`;
  return low === high ? figure(low) : `${figure(low)} to ${figure(high)}`;
}

/** What a row is called where one cannot see it. */
export function name(row) {
  const which = row.system ? `${row.system}${row.position === null || row.position === undefined ? "" : `, sample ${row.position + 1}`}` : "image without a prompt";
  return `${row.prompt ?? row.key}. ${which}`;
}

export const images = (n) => count(n, "image");
