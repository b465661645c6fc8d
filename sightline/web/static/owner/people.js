// The table of annotators, and what can be done about each.

import { count, day, estimate, make, refresh, seconds, the } from "../shared/elements.js";
import { sure } from "../shared/dialogs.js";
import { showLink } from "./link.js";

const NONE = "–";

export function showPeople(overview, act) {
  const { people_missing: missing = 0 } = overview.progress;
  the("people-missing").hidden = !missing;
  the("people-missing").textContent = `The people invited cannot give every item the judgements wanted: ${count(missing, "more person is", "more people are")} needed.`;
  refresh(the("alerts"), overview.alerts, () => (overview.alerts.length ? alerts(overview) : ""));
  refresh(the("people-list"), [overview.people, overview.alerts], () =>
    overview.people.length ? table(overview, act) : make("p", { class: "card" }, "Nobody is invited yet. Make a link below and send it."));
}

function table(overview, act) {
  const { people } = overview;
  const heads = ["annotator", "tasks", "time per task", "agreement", "controls passed", "reference photos", ""];
  const controls = people.some((person) => person.passed + person.failed);
  const photos = people.some((person) => person.reference.n);
  const wanted = heads.filter((head) => (head !== "controls passed" || controls) && (head !== "reference photos" || photos));
  const rows = people.map((person) => {
    const cells = {
      tasks: tasks(person),
      "time per task": seconds(person.seconds),
      agreement: agreement(overview, person),
      "controls passed": person.passed + person.failed ? tried(person) : NONE,
      "reference photos": person.reference.n ? estimate(person.reference, { percent: true }) : NONE,
    };
    return make(
      "tr",
      { class: person.excluded === null ? "" : "excluded" },
      make("th", { scope: "row" }, make("span", {}, make("bdi", {}, person.name)), " ", tags(person, overview), why(person)),
      wanted.slice(1, -1).map((head) => make("td", { class: cells[head] === NONE ? "none" : "", data: { label: head } }, make("div", {}, cells[head]))),
      make("td", {}, buttons(overview.round, person, act)),
    );
  });
  return make(
    "div",
    { class: "scrolls stacks" },
    make("table", {}, make("caption", { class: "hidden" }, "Annotators of this round"),
      make("thead", {}, make("tr", {}, wanted.map((head) => make("th", { scope: "col" }, head || make("span", { class: "hidden" }, "actions"), head === "agreement" ? coefficient(overview) : "")))),
      make("tbody", {}, rows)),
  );
}

// One coefficient for every question; of several questions each names its scale.
const NAME = /^(.*) \((.*)\)$/;

function coefficient({ agreement: together }) {
  const names = Object.values(together).map(({ name }) => name);
  const [, alone] = NAME.exec(names[0] ?? "") ?? [];
  return names.length ? make("div", { class: "n" }, names.length > 1 ? alone : names[0]) : "";
}

function agreement({ agreement: together }, person) {
  const several = Object.keys(together).length > 1;
  const known = Object.entries(person.agreement);
  if (!known.length) return NONE;
  return known.map(([question, each]) =>
    make("div", {}, several ? `${question} (${NAME.exec(each.name)?.[2] ?? each.name}) ` : "", estimate(each)));
}

// What stands out without any rule being set, in words.
function alerts({ alerts: found, people, agreement: together }) {
  const names = new Map(people.map((person) => [person.key, person.name]));
  const several = Object.keys(together).length > 1;
  const line = ({ annotator, question, text }) => make("li", {},
    annotator ? [make("strong", {}, make("bdi", {}, names.get(annotator) ?? annotator)), " "] : "",
    question && (several || !annotator) ? `on ${question}: ` : "", `${text}${/[.?]$/.test(text) ? "" : "."}`);
  return [
    make("h3", {}, "Worth a look"),
    make("ul", {}, found.map(line)),
    make("p", { class: "quiet" }, "Nothing is excluded by this. Look at their answers and ask them, then decide."),
  ];
}

function tasks(person) {
  const rest = [person.skipped ? `${count(person.skipped)} skipped` : "", person.open ? `${count(person.open)} open` : ""].filter(Boolean);
  return [`${count(person.done)} done`, rest.length ? make("div", { class: "n" }, rest.join(", ")) : ""];
}

function tried(person) {
  return `${count(person.passed)} of ${count(person.passed + person.failed)}`;
}

function tags(person, overview) {
  const made = [];
  if (overview.alerts.some(({ annotator }) => annotator === person.key)) made.push(make("span", { class: "tag alarm" }, "worth a look"));
  if (person.role === "control") made.push(make("span", { class: "tag" }, "control"));
  if (person.language) made.push(make("span", { class: "tag" }, person.language));
  if (person.excluded !== null) made.push(make("span", { class: "tag alarm" }, "excluded"));
  else if (person.screened) made.push(make("span", { class: "tag alarm", title: "A screening rule excludes them: their items are given to others." }, "excluded by a rule"));
  else if (person.risks.length) made.push(make("span", { class: "tag alarm" }, "at risk"));
  return made.flatMap((tag) => [tag, " "]);
}

function why(person) {
  if (person.excluded !== null) return make("p", { class: "why" }, person.excluded);
  if (!person.risks.length) return "";
  return make("details", { data: { key: `why-${person.key}` } },
    make("summary", { class: "quiet" }, count(person.risks.length, "rule")),
    make("ul", { class: "why" }, person.risks.map((risk) => make("li", {}, `${risk.rule}: ${risk.reason}`))));
}

function buttons(round, person, act) {
  const key = (what) => ({ key: `${what}-${person.key}` });
  const made = [];
  if (person.excluded === null && person.invitable) {
    made.push(make("button", { type: "button", class: "plain small", data: key("link"), title: person.link_expires ? `Has a link until ${day(person.link_expires)}` : "Has no link at the moment", onclick: () => renew(round, person, act) }, "New link"));
  }
  if (person.link_expires) {
    made.push(make("button", { type: "button", class: "plain small", data: key("revoke"), onclick: () => revoke(round, person, act) }, "Revoke"));
  }
  if (person.excluded === null && person.role !== "control") {
    made.push(make("button", { type: "button", class: "plain small", data: key("exclude"), onclick: () => exclude(person, act) }, "Exclude"));
  } else if (person.excluded !== null) {
    made.push(make("button", { type: "button", class: "plain small", data: key("restore"), onclick: () => act("restore", { name: person.key }) }, "Restore"));
  }
  return make("div", { class: "buttons" }, made);
}

async function renew(round, person, act) {
  const made = await act("invite", { round, name: person.name, role: person.role, days: 30, language: person.language });
  if (made) await showLink(person.name, made);
}

async function revoke(round, person, act) {
  const text = "Their links stop working at once. What they judged stays and counts.";
  if (await sure({ title: `Revoke the links of ${person.name}?`, text, yes: "Revoke" })) {
    await act("revoke", { round, name: person.key });
  }
}

async function exclude(person, act) {
  const text = `None of their ${count(person.judgements, "judgement")} will count. Nothing is deleted: you can restore them.`;
  const given = await sure({ title: `Exclude ${person.name}?`, text, yes: "Exclude", reason: true });
  if (given) await act("exclude", { name: person.key, reason: given.reason });
}
