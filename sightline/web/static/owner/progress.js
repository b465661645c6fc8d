// How far the round is, in a line and a few numbers.

import { $, count, make, moment, number, percent, refresh, seconds, several } from "./elements.js";

export function showProgress(told) {
  const { progress, times, cost } = told;
  $("share").textContent = percent(progress.share);
  $("share-told").textContent = `${count(progress.done)} of ${several(progress.wanted, "page")} of work done`;
  $("bar").value = progress.share;
  const facts = [
    ["judgements", count(progress.judgements_in), `of ${count(progress.judgements_wanted)} wanted, ${several(progress.items, "item")}`],
    ["handed out", count(progress.handed), pages(progress)],
    ["expected end", ...end(told)],
    ["a page takes", seconds(times.median), times.n ? `half of them ${seconds(times.low)} to ${seconds(times.high)}, n ${count(times.n)}` : "no page yet"],
  ];
  if (cost) {
    facts.push(["cost so far", cost.so_far, `${several(cost.pages, "page")} at ${cost.price}${Number(cost.fee) ? ` plus ${Math.round(cost.fee * 100)} %` : ""}`]);
    facts.push(["cost at the end", cost.at_end, `${several(cost.pages_at_end, "page")}, controls included`]);
  }
  refresh($("facts"), [facts, told.agreement], () => [
    ...facts.map(([name, said, note]) => fact(name, said, note)),
    ...told.agreement.map(({ question, figure: found }) =>
      fact(`${found.name}${told.agreement.length > 1 ? `, ${question}` : ""}`, found.value === null ? "–" : number(found.value), about(found))),
  ]);
}

function fact(name, said, note) {
  return make("div", {}, make("dt", {}, name), make("dd", {}, said), make("dd", { class: "note" }, note));
}

function about(found) {
  if (found.value === null) return found.reason;
  const limits = found.low === null ? "" : `${number(found.low)} to ${number(found.high)}, `;
  return `${limits}${several(found.n, "item")} judged twice or more`;
}

function pages(progress) {
  const parts = [`${count(progress.open)} open`];
  if (progress.skipped) parts.push(`${count(progress.skipped)} skipped`);
  if (progress.lapsed) parts.push(`${count(progress.lapsed)} lapsed`);
  return parts.join(", ");
}

function end({ progress, state }) {
  if (progress.done >= progress.wanted) return ["done", "all work is in"];
  if (state === "paused") return ["–", "the round is paused"];
  if (!progress.expected) return ["–", progress.rate.reason ?? "nobody is working at the moment"];
  const until = progress.latest ? `${moment(progress.earliest)} to ${moment(progress.latest)}, ` : "";
  return [moment(progress.expected), `${until}at ${count(Math.round(progress.rate.value))} pages an hour`];
}
