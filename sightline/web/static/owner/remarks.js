// What annotators noted about tasks: flags first, then comments and marked regions. Text is only ever set as text.

import { count, make, refresh, the } from "../shared/elements.js";
import { drawn } from "../shared/marks.js";
import { enlarge } from "./enlarging.js";

const NAMES = { 2: ["A", "B"], 3: ["the reference", "A", "B"] };
const SAID = { comment: "Comment", flag: "Flag" };

export function showRemarks({ remarks, remark_counts: counts }) {
  const all = Object.values(counts).reduce((sum, n) => sum + n, 0);
  the("remarks-part").hidden = all === 0;
  if (!all) return;
  const words = [
    counts.flag && count(counts.flag, "task flagged", "tasks flagged"),
    counts.comment && count(counts.comment, "comment"),
    counts.regions && count(counts.regions, "image with regions", "images with regions"),
  ].filter(Boolean);
  const shown = remarks.length < all ? `; the first ${count(remarks.length)} are shown` : "";
  refresh(the("remarks"), [remarks, words], () => [
    make("p", { class: "n" }, words.join(", "), shown),
    make("ul", { class: "remarks" }, remarks.map(remark)),
  ]);
}

function remark({ kind, annotator, task, text, item, images, part, boxes, prompt }) {
  const address = `/api/owner/images/${item}/${part}`;
  const named = NAMES[images]?.[part] ?? "the image";
  const what = SAID[kind] ?? `${count(boxes.length, "region")} of ${named}`;
  const name = `${what} by ${annotator}`;
  const open = () => enlarge([{ address, name, boxes }]);
  return make("li", { class: "card remark" },
    make("button", { type: "button", class: "picture", "aria-label": `Enlarge: ${name}, task ${task}`, data: { key: `${annotator}-${task}-${kind}-${item}-${part}` }, onclick: open },
      make("img", { src: address, alt: "", loading: "lazy" }),
      boxes.map(drawn)),
    make("div", {},
      make("p", { class: "n" }, make("b", {}, what), " by ", make("bdi", {}, annotator), `, task ${task}`),
      text ? make("p", { class: "said", dir: "auto" }, text) : "",
      prompt === null ? "" : make("p", { class: "quiet", dir: "auto" }, prompt)));
}
