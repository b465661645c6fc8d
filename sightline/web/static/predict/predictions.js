// One prompt's prediction: its words marked, its figures on their scales, what to be careful about.

import { make, number } from "../shared/elements.js";

const LONG = 1_200;
const WHOLE = 24;
const SVG = "http://www.w3.org/2000/svg";
const signed = (given) => `${given < 0 ? "−" : "+"}${Math.abs(given).toFixed(2)}`;

export function prediction(found, targets, picked, { rank = 0, own = false, button = null } = {}) {
  const main = found.words[picked];
  const expected = Object.keys(targets).filter((name) => name in found.expected);
  const text = make("p", { class: found.prompt.length > LONG ? "text long" : "text", tabindex: found.prompt.length > LONG ? "0" : null },
    rank ? make("span", { class: "rank" }, `${rank}.`) : "",
    make("bdi", {}, main ? marked(main.pieces) : found.prompt || make("span", { class: "quiet" }, "(nothing)")),
    own ? [" ", make("span", { class: "tag" }, "as it is now")] : "");
  const words = make("div", {}, text, main ? because(main) : "",
    found.warnings.length ? make("ul", { class: "care" }, found.warnings.map((said) => make("li", {}, said))) : "",
    found.refused ? make("p", { class: "refused" }, make("span", { class: "tag alarm" }, "not predicted"), " ", found.refused) : "",
    button ?? "");
  if (!expected.length) return make("li", { class: "card prediction none" }, words);
  return make("li", { class: "card prediction" }, words,
    make("dl", { class: "figures" }, expected.map((name) => figure(found.expected[name], targets[name], name === picked))));
}

function marked(pieces) {
  const most = pieces.reduce((found, { adds }) => Math.max(found, Math.abs(adds ?? 0)), 0);
  return pieces.map((each) => piece(each, most));
}

// Hue, kind of line, sign, and words for those who hear the page: any one of them is enough.
function piece({ text, adds }, most) {
  if (adds === null) return text;
  const easier = adds > 0;
  // A sign must not stand on the next line; only what is too long for a line may be broken.
  const kinds = [easier ? "easier" : "harder", Math.abs(adds) < most / 4 ? "weak" : "", text.length <= WHOLE ? "whole" : ""];
  return make("mark", { class: kinds.filter(Boolean).join(" "), title: `${signed(adds)}: makes it ${easier ? "easier" : "harder"}` },
    text, make("sup", { "aria-hidden": "true" }, easier ? "+" : "−"),
    make("span", { class: "hidden" }, ` (makes it ${easier ? "easier" : "harder"})`));
}

function because({ easier, harder }) {
  const listed = (words) => words.map(([word, adds]) => `${word} ${signed(adds)}`).join(", ");
  const made = [];
  if (easier.length) made.push(make("span", {}, make("b", {}, "Easier: "), make("bdi", {}, listed(easier))));
  if (harder.length) made.push(make("span", {}, make("b", {}, "Harder: "), make("bdi", {}, listed(harder))));
  return made.length ? make("p", { class: "because" }, made) : "";
}

function figure({ value, low, high }, { title, low: least, high: most }, picked) {
  const limits = `${number(low)} to ${number(high)}`;
  return make("div", { class: picked ? "picked" : "" },
    make("dt", {}, title), make("dd", {}, number(value)),
    make("dd", {}, scale(value, low, high, least, most, `${title} ${number(value)}, interval ${limits}, on a scale from ${number(least, 0)} to ${number(most, 0)}`)),
    make("dd", { class: "limits" }, limits));
}

function scale(value, low, high, least, most, said) {
  const at = (given) => `${(100 * (given - least)) / (most - least)}%`;
  const wide = `${(100 * (high - low)) / (most - least)}%`;
  return drawn("svg", { class: "scale", role: "img", "aria-label": said },
    drawn("rect", { class: "track", x: 0, y: "40%", width: "100%", height: "20%", rx: 1.5 }),
    least < 0 ? drawn("line", { class: "zero", x1: at(0), x2: at(0), y1: "20%", y2: "80%" }) : null,
    drawn("rect", { class: "band", x: at(low), y: "20%", width: wide, height: "60%", rx: 2 }),
    drawn("line", { class: "value", x1: at(value), x2: at(value), y1: 0, y2: "100%" }));
}

function drawn(name, values, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(values)) element.setAttribute(key, value);
  element.append(...children.filter(Boolean));
  return element;
}
