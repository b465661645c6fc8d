// The table of annotators, and what can be done about each.

import { $, count, day, figure, make, refresh, seconds, several } from "./elements.js";
import { showLink, sure } from "./dialogs.js";

const NONE = "–";

export function showPeople(told, act) {
  refresh($("people-list"), [told.people, told.agreement.length], () =>
    told.people.length ? table(told, act) : make("p", { class: "card" }, "Nobody is invited yet. Make a link below and send it."));
}

function table(told, act) {
  const several_questions = told.agreement.length > 1;
  const heads = ["annotator", "pages", "a page takes", "agreement", "controls passed", "reference photos", ""];
  const controls = told.people.some((person) => person.passed + person.failed);
  const photos = told.people.some((person) => person.reference.n);
  const wanted = heads.filter((head) => (head !== "controls passed" || controls) && (head !== "reference photos" || photos));
  const rows = told.people.map((person) => {
    const cells = {
      pages: pages(person),
      "a page takes": seconds(person.seconds),
      agreement: person.agreement.length
        ? person.agreement.map(({ question, figure: found }) => make("div", {}, several_questions ? `${question} ` : "", figure(found)))
        : NONE,
      "controls passed": person.passed + person.failed ? tried(person) : NONE,
      "reference photos": person.reference.n ? figure(person.reference, { share: true }) : NONE,
    };
    return make(
      "tr",
      { class: person.left_out === null ? "" : "left-out" },
      make("th", { scope: "row" }, make("span", {}, make("bdi", {}, person.name)), " ", tags(person), why(person)),
      wanted.slice(1, -1).map((head) => make("td", { class: cells[head] === NONE ? "none" : "", data: { label: head } }, make("div", {}, cells[head]))),
      make("td", {}, buttons(told, person, act)),
    );
  });
  return make(
    "div",
    { class: "scrolls stacks" },
    make("table", {}, make("caption", { class: "hidden" }, "Annotators of this round"),
      make("thead", {}, make("tr", {}, wanted.map((head) => make("th", { scope: "col" }, head || make("span", { class: "hidden" }, "actions"), head === "agreement" ? coefficient(told) : "")))),
      make("tbody", {}, rows)),
  );
}

// Which coefficient it is depends on the question's scale.
function coefficient(told) {
  const names = new Set(told.people.flatMap((person) => person.agreement.map(({ figure: found }) => found.name.split(" with ")[0])));
  return names.size === 1 ? make("div", { class: "n" }, [...names][0]) : "";
}

function pages(person) {
  const rest = [person.skipped ? `${count(person.skipped)} skipped` : "", person.open ? `${count(person.open)} open` : ""].filter(Boolean);
  return [`${count(person.done)} done`, rest.length ? make("div", { class: "n" }, rest.join(", ")) : ""];
}

function tried(person) {
  return `${count(person.passed)} of ${count(person.passed + person.failed)}`;
}

function tags(person) {
  const made = [];
  if (person.role === "control") made.push(make("span", { class: "tag" }, "control"));
  if (person.language) made.push(make("span", { class: "tag" }, person.language));
  if (person.left_out !== null) made.push(make("span", { class: "tag alarm" }, "excluded"));
  else if (person.risks.length) made.push(make("span", { class: "tag alarm" }, "at risk"));
  return made.flatMap((tag) => [tag, " "]);
}

function why(person) {
  if (person.left_out !== null) return make("p", { class: "why" }, person.left_out);
  if (!person.risks.length) return "";
  return make("details", { data: { key: `why-${person.key}` } },
    make("summary", { class: "quiet" }, several(person.risks.length, "rule")),
    make("ul", { class: "why" }, person.risks.map((risk) => make("li", {}, `${risk.rule}: ${risk.reason}`))));
}

function buttons(told, person, act) {
  const key = (what) => ({ key: `${what}-${person.key}` });
  const made = [];
  if (person.left_out === null && person.invitable) {
    made.push(make("button", { type: "button", class: "plain small", data: key("link"), title: person.link ? `Has a link until ${day(person.link)}` : "Has no link at the moment", onclick: () => renew(told, person, act) }, "New link"));
  }
  if (person.link) {
    made.push(make("button", { type: "button", class: "plain small", data: key("revoke"), onclick: () => revoke(told, person, act) }, "Revoke"));
  }
  if (person.left_out === null && person.role !== "control") {
    made.push(make("button", { type: "button", class: "plain small", data: key("exclude"), onclick: () => exclude(person, act) }, "Exclude"));
  } else if (person.left_out !== null) {
    made.push(make("button", { type: "button", class: "plain small", data: key("restore"), onclick: () => act("restore", { name: person.key }) }, "Restore"));
  }
  return make("div", { class: "buttons" }, made);
}

async function renew(told, person, act) {
  const made = await act("invite", { round: told.round, name: person.name, role: person.role, days: 30, language: person.language });
  if (made) await showLink(person.name, made);
}

async function revoke(told, person, act) {
  const text = "Their links stop working at once. What they judged stays and counts.";
  if (await sure({ title: `Take back the links of ${person.name}?`, text, yes: "Take back" })) {
    await act("revoke", { round: told.round, name: person.key });
  }
}

async function exclude(person, act) {
  const text = `None of their ${several(person.judgements, "judgement")} will count. Nothing is deleted: you can restore them.`;
  const given = await sure({ title: `Exclude ${person.name}?`, text, yes: "Exclude", reason: true });
  if (given) await act("exclude", { name: person.key, reason: given.reason });
}
