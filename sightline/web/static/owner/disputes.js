// What people disagree on: images side by side, who said what, and one click to decide.

import { $, make, number, refresh, value } from "./elements.js";
import { enlarge } from "./dialogs.js";

const FIRST = 6;
const cards = new Map();
let all = false;

const MOST_BUTTONS = 12;

export function showDisputes(page, act) {
  const disputed = page.overview.disputes;
  const asked = page.questions.filter(({ name }) => disputed[name].length);
  if (!asked.length) {
    refresh($("disputes"), "none", () => make("p", { class: "card" }, "Nothing so far: no two people differ."));
    return;
  }
  refresh($("disputes"), [disputed, all], () => asked.flatMap((question) => {
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

function pictures(dispute) {
  const names = { 2: ["A", "B"], 3: ["reference", "A", "B"] }[dispute.images] ?? [""];
  const addresses = Array.from({ length: dispute.images }, (_, place) => `/api/owner/images/${dispute.item}/${place}`);
  return make("div", { class: "pictures" }, addresses.map((address, place) =>
    make("figure", {},
      make("button", { type: "button", class: "picture", "aria-label": `Enlarge ${names[place] || "the image"}`, onclick: () => enlarge(address) },
        make("img", { src: address, alt: names[place] || "", loading: "lazy" })),
      names[place] ? make("figcaption", {}, names[place]) : "")));
}

function named(question, given) {
  return question.labels.find((label) => label.value === given)?.text ?? value(given);
}

function decide(question, dispute, key, act) {
  const send = (given) => act("adjudicate", { question: question.name, item: dispute.item, value: given });
  if (question.labels.length && question.labels.length <= MOST_BUTTONS) {
    return make("div", { class: "decide", role: "group", "aria-label": "Decide" }, question.labels.map((label) =>
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
