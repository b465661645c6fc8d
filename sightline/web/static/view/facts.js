// All that is known of one row, in words: prompt, votes, truths, scores, predictions, provenance.

import { count, make, moment, seconds, value as plainly } from "../shared/elements.js";
import { boxesOf, listed, rest } from "./evidence.js";
import { absent } from "./cells.js";
import { better, figure } from "./words.js";

const part = (title, ...inside) => make("section", {}, make("h3", {}, title), ...inside);
const directed = (direction) => (direction === "none" ? "" : better(direction));
const pairs = (values) => make("dl", { class: "pairs" }, values.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) =>
  make("div", {}, make("dt", {}, name), make("dd", { dir: "auto" }, value))));

/** The parts of the detail view. `drawn` is the set of measures whose boxes are drawn; `acts` is what one can do. */
export function facts(detail, { blind, drawn, acts }) {
  return [
    heading(detail, acts),
    votes(detail.votes, blind, acts),
    truths(detail.truths, acts.fieldOf),
    scores(detail.scores, drawn, { ...acts, correct: () => acts.correct(detail.row) }),
    predictions(detail.predictions),
    siblings(detail, acts),
    about(detail, acts),
  ].flat().filter(Boolean);
}

function heading({ row, prompt }, { filter }) {
  const tags = Object.entries({ ...prompt?.tags, ...row.tags });
  return make("div", { class: "head-of" },
    make("p", { class: "made" }, row.system ? make("button", { type: "button", class: "link", onclick: () => filter({ system: [row.system] }) }, make("bdi", {}, row.system)) : "Image without a prompt",
      row.position === null || row.position === undefined ? "" : make("span", { class: "quiet" }, ` sample ${row.position + 1}`)),
    make("h2", { id: "detail-title", dir: "auto", tabindex: "-1" }, prompt?.text ?? row.prompt ?? row.key),
    row.thumb ? "" : make("p", { class: "alarm" }, absent(row)),
    tags.length ? make("p", { class: "tags" }, tags.flatMap(([name, values]) => [values].flat().map((value) =>
      make("button", { type: "button", class: "chip", title: "Show all images with this tag", onclick: () => filter({ fields: { [`tag:${name}`]: [String(value)] } }) }, make("bdi", {}, `${name}: ${value}`))))) : "");
}

function votes(given, blind, { unblind }) {
  if (!given.length) return part("Votes", make("p", { class: "quiet" }, "Nobody has judged this image."));
  const questions = [...new Set(given.map(({ question }) => question))];
  const names = make("button", { type: "button", class: "link", id: "names", onclick: unblind }, blind ? "Show names" : "Hide names");
  return part("Votes", make("p", { class: "quiet spread" }, make("span", {}, count(given.reduce((sum, { n }) => sum + n, 0), "vote")), names), questions.map((question) =>
    make("table", { class: "votes-table" },
      make("caption", {}, question),
      make("tbody", {}, given.filter((vote) => vote.question === question).map(vote)))));
}

function vote({ annotator, value, label, skipped, side, n, control, excluded, seconds: took, at }) {
  const said = skipped ? `skipped: ${skipped}` : label || plainly(value);
  const notes = [n > 1 ? `${count(n)} people` : "", control ? "control" : "", excluded ? `excluded: ${excluded}` : "", took === null ? "" : seconds(took), at ? moment(at) : ""];
  return make("tr", { class: excluded ? "excluded" : "" },
    make("th", { scope: "row" }, make("bdi", {}, annotator)),
    make("td", {}, make("b", {}, said), side ? make("span", { class: "quiet" }, ` (this was ${side})`) : ""),
    make("td", { class: "n" }, notes.filter(Boolean).join(" · ")));
}

function truths(given, fieldOf) {
  if (!given.length) return null;
  return part("Truth", given.map(({ question, rule, estimate, counts, of }) => {
    const { direction, low, high } = fieldOf(`truth:${question}`);
    const notes = [estimate.reason, `by ${rule}`, counts ? "" : "not the one that counts", of === "image" ? "" : `of the ${of}`, directed(direction)];
    return make("div", { class: "score" },
      make("p", {}, make("span", { class: "name" }, question), " ", make("b", {}, figure(estimate.value)), interval(estimate), make("span", { class: "n" }, ` n ${count(estimate.n)}`)),
      scale(estimate, [low, high]),
      make("p", { class: "quiet" }, notes.filter(Boolean).join("; ")));
  }));
}

const interval = ({ low, high }) => (low === null || high === null ? "" : make("span", { class: "interval" }, ` [${figure(low)}, ${figure(high)}]`));

function scores(given, drawn, { draw, correct }) {
  if (!given.length) return part("Scores", make("p", { class: "quiet" }, "No measure has scored this image."));
  const verdictsFirst = [...given].sort((a, b) => Number(b.kind === "verdict") - Number(a.kind === "verdict"));
  return part("Scores", verdictsFirst.map((score) => {
    const { measure, value, low, high } = score;
    const boxes = boxesOf(score.evidence);
    const words = rest(score.evidence);
    const toggle = make("input", { type: "checkbox", data: { key: `boxes-${measure}` } });
    toggle.checked = drawn.has(measure);
    toggle.addEventListener("change", () => draw(measure, toggle.checked));
    const ends = low === null && high === null ? "" : `range ${low === null ? "−∞" : figure(low)} to ${high === null ? "∞" : figure(high)}`;
    const notes = [score.reason, score.current ? "" : "out of date: what was measured has changed", score.of === "image" ? "" : `of the ${score.of}`, score.source ? `imported from ${score.source}` : "", directed(score.direction), ends];
    const isVerdict = score.kind === "verdict";
    const said = isVerdict ? score.evidence?.verdict ?? "cannot tell" : value === null ? "no value" : figure(value);
    return make("div", { class: "score", data: { measure } },
      make("p", {}, make("span", { class: "name" }, measure), " ", make("b", {}, said)),
      value === null || isVerdict ? "" : scale({ value, low: null, high: null }, [low, high]),
      make("p", { class: "quiet" }, (isVerdict ? [score.evidence?.why ?? score.reason, notes[1]] : notes).filter(Boolean).join("; ")),
      isVerdict ? make("p", {}, make("button", { type: "button", class: "plain small", "aria-keyshortcuts": "c", onclick: correct }, "Correct this verdict (c)")) : "",
      boxes.length ? make("label", { class: "choice" }, toggle, make("span", {}, `Draw ${count(boxes.length, "box", "boxes")}`)) : "",
      words ? make("details", {}, make("summary", {}, "Evidence"), words) : "");
  }));
}

/** A line with a dot where a value lies on its scale, and a band for its interval. */
function scale({ value, low, high }, [least, most]) {
  if (![value, least, most].every(Number.isFinite) || most <= least) return "";
  const at = (given) => `${Math.max(0, Math.min(100, (100 * (given - least)) / (most - least)))}%`;
  const bar = make("span", { class: "bar" });
  const mark = make("span", { class: "mark" });
  mark.style.left = at(value);
  if (low === null || high === null) return make("span", { class: "track", "aria-hidden": "true" }, mark);
  Object.assign(bar.style, { left: at(low), right: `calc(100% - ${at(high)})` });
  return make("span", { class: "track", "aria-hidden": "true" }, bar, mark);
}

function predictions(given) {
  if (!given.length) return null;
  return part("Predictions", given.map(({ question, predictor, estimate }) => make("div", { class: "score" },
    make("p", {}, make("span", { class: "name" }, question), " ", make("b", {}, figure(estimate.value)), interval(estimate)),
    make("p", { class: "quiet" }, [estimate.reason, `by ${predictor}`].filter(Boolean).join("; ")))));
}

function siblings({ row, siblings: given }, { open, thumbnail, side }) {
  const others = given.filter((each) => each.key !== row.key);
  if (!others.length) return null;
  const systems = [...new Set(given.map(({ system }) => system))];
  const samples = given.filter(({ system }) => system === row.system).length;
  return part("The same prompt",
    make("p", { class: "buttons-line" },
      systems.length > 1 ? make("button", { type: "button", class: "plain small", onclick: () => side("systems") }, `${systems.length} systems side by side`) : "",
      samples > 1 ? make("button", { type: "button", class: "plain small", onclick: () => side("samples") }, `${samples} samples side by side`) : ""),
    systems.map((system) => make("div", { class: "siblings" },
      make("h4", {}, make("bdi", {}, system ?? "no system")),
      make("ul", {}, given.filter((each) => each.system === system).map((each) =>
        make("li", {}, make("button", { type: "button", class: "sibling", "aria-current": each.key === row.key ? "true" : null, "aria-label": `${system ?? "no system"}, sample ${(each.position ?? 0) + 1}`, onclick: () => open(each.key) },
          each.thumb ? thumbnail(each) : make("span", { class: "none" }, "no image"))))))));
}

function about({ prompt, image, answer, provenance }, { openPrompt }) {
  const imported = ({ number: given, importer, path, at }) => `number ${given}, ${importer}, ${path}, ${moment(at)}`;
  return [
    prompt && part("Prompt", pairs([["suite", prompt.suite], ["id", prompt.ref], ["expects", prompt.expects && listed(prompt.expects)]]),
      make("ul", { class: "listed" }, prompt.links.map((link) => make("li", {}, `${link.kind.replaceAll("_", " ")}: `,
        make("button", { type: "button", class: "link", onclick: () => openPrompt(link.prompt_id) }, make("bdi", {}, link.prompt)))))),
    image && part("Image", pairs([["size", image.width && `${image.width} × ${image.height}`], ["collection", image.collection], ["name", image.name],
      ["captions", image.captions.length ? listed(image.captions) : null], ["scene", image.scene && listed(image.scene)], ["defect", image.defect],
      ["SHA-256", image.sha256 && make("code", {}, image.sha256)]])),
    part("Where it comes from", pairs([
      ["answer imported", provenance.answer && imported(provenance.answer)], ["image imported", provenance.image && imported(provenance.image)],
      ...(answer ? [["seed", answer.seed], ["score of the system", answer.score === null ? null : figure(answer.score)], ...Object.entries(answer.settings ?? {}).map(([name, value]) => [name, listed(value)])] : []),
    ])),
  ];
}
