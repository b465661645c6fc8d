// How far the round is, in a line and a few numbers.

import { count, make, moment, number, percent, refresh, seconds, the } from "../shared/elements.js";

export function showProgress(overview) {
  const { progress, times, cost } = overview;
  const fraction = progress.wanted ? progress.done / progress.wanted : 0;
  the("share").textContent = percent(fraction);
  the("share-note").textContent = `${count(progress.done)} of ${count(progress.wanted, "task")} done`;
  the("bar").value = fraction;
  const assigned = Object.values(progress.assigned).reduce((sum, n) => sum + n, 0);
  const facts = [
    ["judgements", count(progress.judgements), `of ${count(progress.judgements_wanted)} wanted, ${count(progress.items, "item")}`],
    ["assigned", count(assigned), states(progress.assigned)],
    ["expected end", ...end(overview)],
    ["time per task", seconds(times.value), times.n ? `half of them ${seconds(times.low)} to ${seconds(times.high)}, n ${count(times.n)}` : times.reason],
  ];
  if (cost) {
    facts.push(["cost so far", cost.so_far, `${count(cost.tasks, "task")} at ${cost.price}${Number(cost.fee) ? ` plus ${Math.round(cost.fee * 100)} %` : ""}`]);
    facts.push(["cost at the end", cost.at_end, `${count(cost.tasks_at_end, "task")}, controls included`]);
  }
  if (progress.people_missing) facts.push(["people needed", `${count(progress.people_missing)} more`, "those invited cannot give every item the judgements wanted"]);
  const enrolled = Object.entries(overview.enrolled);
  for (const [question, each] of enrolled) {
    const of = enrolled.length > 1 ? `, ${question}` : "";
    const [few, mean, many] = each.judgements;
    facts.push([`judgements per annotator${of}`, number(mean), `${count(few)} to ${count(many)}, ${count(each.annotators, "annotator")}`]);
    facts.push([`Fleiss' kappa per annotator${of}`, each.mean.value === null ? "–" : number(each.mean.value), kappas(each)]);
  }
  const agreement = Object.entries(overview.agreement);
  refresh(the("facts"), [facts, agreement], () => [
    ...facts.map(([name, text, note]) => fact(name, text, note)),
    ...agreement.map(([question, each]) =>
      fact(`${each.name}${agreement.length > 1 ? `, ${question}` : ""}`, each.value === null ? "–" : number(each.value), about(each) + everyone(overview, question, each))),
  ]);
}

function fact(name, text, note) {
  return make("div", {}, make("dt", {}, name), make("dd", {}, text), make("dd", { class: "note" }, note));
}

// The mean's limits, whose is least and most, and the kappa of everybody together: Table 1 of PQPP.
function kappas({ least, mean, most, of_all: together }) {
  if (mean.value === null) return mean.reason;
  const limits = mean.low === null ? "" : `${number(mean.low)} to ${number(mean.high)}; `;
  return `${limits}least ${number(least.value)}, most ${number(most.value)}; all together ${number(together.value)}`;
}

function about(estimate) {
  if (estimate.value === null) return estimate.reason;
  const limits = estimate.low === null ? "" : `${number(estimate.low)} to ${number(estimate.high)}, `;
  return `${limits}${count(estimate.n, "item")} judged twice or more`;
}

function everyone({ agreement_everyone: all = {} }, question, each) {
  const other = all[question];
  if (!other || other.value === null || other.value === each.value) return "";
  return `; after exclusion, ${number(other.value)} with everyone`;
}

function states({ open = 0, skipped, lapsed }) {
  const parts = [`${count(open)} open`];
  if (skipped) parts.push(`${count(skipped)} skipped`);
  if (lapsed) parts.push(`${count(lapsed)} lapsed`);
  return parts.join(", ");
}

function end({ progress, state }) {
  if (progress.done >= progress.wanted) return ["done", "all work is in"];
  if (state === "paused") return ["–", "the round is paused"];
  if (!progress.expected) return ["–", progress.rate.reason ?? "nobody is working at the moment"];
  const until = progress.latest ? `${moment(progress.earliest)} to ${moment(progress.latest)}, ` : "";
  return [moment(progress.expected), `${until}at ${count(Math.round(progress.rate.value))} tasks per hour`];
}
