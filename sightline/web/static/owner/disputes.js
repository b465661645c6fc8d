// What people disagree on: images side by side, who said what, and one click to decide.

import { make, number, refresh, the, value } from "../shared/elements.js";
import { enlarge } from "./enlarging.js";

const FIRST = 6;
const cards = new Map();
let all = false;

const MOST_BUTTONS = 12;

export function showDisputes(page, act) {
  const disputed = page.overview.disputes;
  const asked = page.questions.filter(({ name }) => disputed[name].length);
  if (!asked.length) {
    refresh(the("disputes"), "none", () => make("p", { class: "card" }, "Nothing so far: no two people differ."));
    return;
  }
  refresh(the("disputes"), [disputed, all], () => asked.flatMap((question) => {
    const disputes = disputed[question.name];
    const shown = all ? disputes : disputes.slice(0, FIRST);
    const left = disputes.length - shown.length;
    return [
      make("h3", { class: "question" }, question.wording),
      make("div", { class: "disputes" }, shown.map((dispute) => card(question, dispute, act))),
      left ? make("button", { type: "button", class: "plain more", data: { key: "more" }, onclick: () => { all = true; showDisputes(page, act); } }, `${left} more`) : "",
    ].filter(Boolean);
  }));
}

// A card stays the same element while nothing about it changes, so that its images do not flicker.
function card(question, dispute, act) {
  const key = `${question.name}-${dispute.item}`;
  const state = JSON.stringify(dispute);
  const known = cards.get(key);
  if (known?.state === state) return known.element;
  const element = make(
    "article",
    { class: "card dispute" },
    dispute.prompt === null ? "" : make("p", { class: "text", dir: "auto" }, dispute.prompt),
    pictures(dispute),
    make("ul", { class: "votes", "aria-label": "Judgements" }, dispute.votes.map((vote) =>
      make("li", {}, make("bdi", {}, vote.annotator), " ", make("b", {}, named(question, vote.value))))),
    make("p", { class: "n" }, `spread ${number(dispute.spread)}, n ${dispute.votes.length}`, dispute.decided === null ? "" : `, decided: ${named(question, dispute.decided)}`),
    decide(question, dispute, key, act),
  );
  cards.set(key, { state, element });
  return element;
}

// As on the page to judge on: the reference stands between A and B.
const NAMES = { 2: ["A", "B"], 3: ["reference", "A", "B"] };
const ORDER = { 2: [0, 1], 3: [1, 0, 2] };

function pictures(dispute) {
  const names = NAMES[dispute.images] ?? [""];
  const images = Array.from({ length: dispute.images }, (_, place) => ({ address: `/api/owner/images/${dispute.item}/${place}`, name: names[place] || "The image" }));
  const order = ORDER[dispute.images] ?? [0];
  const shown = order.map((place) => images[place]);
  return make("div", { class: "pictures" }, order.map((place, n) =>
    make("figure", {},
      make("button", { type: "button", class: "picture", "aria-label": `Enlarge ${names[place] || "the image"}`, onclick: () => enlarge(shown, n) },
        make("img", { src: images[place].address, alt: names[place] || "", loading: "lazy" })),
      names[place] ? make("figcaption", {}, names[place]) : "")));
}

// What chooses an image stands below it: A at the left, B at the right, what chooses neither between them.
function besides(labels) {
  const side = ({ text }) => ({ A: 0, B: 2 })[text] ?? 1;
  const sided = labels.filter((label) => side(label) !== 1).length === 2;
  return { sided, labels: sided ? [...labels].sort((one, other) => side(one) - side(other)) : labels };
}

function named(question, given) {
  return question.labels.find((label) => label.value === given)?.text ?? value(given);
}

function decide(question, dispute, key, act) {
  const send = (given) => act("adjudicate", { question: question.name, item: dispute.item, value: given });
  if (question.labels.length && question.labels.length <= MOST_BUTTONS) {
    const { sided, labels } = besides(question.labels);
    return make("div", { class: sided ? "decide sided" : "decide", role: "group", "aria-label": "Decide" }, labels.map((label) =>
      make("button", { type: "button", class: "plain small", "aria-pressed": String(dispute.decided === label.value), data: { key: `${key}-${label.value}` }, onclick: () => send(label.value) }, label.text)));
  }
  const middle = dispute.votes.map((vote) => vote.value).sort((a, b) => a - b)[Math.floor(dispute.votes.length / 2)];
  const slider = make("input", { type: "range", min: question.low, max: question.high, step: question.step ?? "any", "aria-label": "Your value" });
  slider.value = dispute.decided ?? middle;
  const shown = make("output", {}, value(Number(slider.value)));
  slider.addEventListener("input", () => { shown.value = value(Number(slider.value)); });
  return make("div", { class: "decide" }, slider, shown,
    make("button", { type: "button", class: "plain small", data: { key: `${key}-decide` }, onclick: () => send(Number(slider.value)) }, "Decide"));
}
