// Work judged again, compared with the first judgements.

import { count, estimate, make, refresh, the } from "../shared/elements.js";

const BY = { other: "by somebody else", same: "by the same person" };

export function showQuality({ progress, rejudged }) {
  refresh(the("quality"), [progress.again, progress.again_done, rejudged], () => {
    const made = [];
    if (progress.again) made.push(make("p", { class: "lead" }, `${progress.again_done} of ${count(progress.again, "item")} drawn for it are judged again.`));
    if (rejudged.length) made.push(table(rejudged));
    if (!made.length) made.push(make("p", { class: "lead" }, "No work was judged a second time yet. A random sample shows how far judgements can be trusted."));
    return made;
  });
}

function table(rejudged) {
  const heads = ["judged again", "question", "agreement with the first judgement", "the same answer"];
  return make("div", { class: "scrolls stacks" }, make("table", {},
    make("caption", { class: "hidden" }, "Work judged again"),
    make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, rejudged.map((each) => make("tr", {},
      make("th", { scope: "row" }, BY[each.by] ?? each.by),
      make("td", { data: { label: heads[1] } }, each.question),
      make("td", { data: { label: heads[2] } }, make("div", {}, estimate(each.agreement), make("div", { class: "n" }, each.agreement.name))),
      make("td", { data: { label: heads[3] } }, estimate(each.same, { percent: true })))))));
}
