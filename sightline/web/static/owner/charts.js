// Charts are images drawn by the server, light or dark, wide or narrow; each has a table beneath.

import { get } from "../shared/api.js";
import { make, refresh, the } from "../shared/elements.js";

const EVERY = 30_000;
let drawn = 0;
let version = "";

export function showCharts(page) {
  const { round } = page.overview;
  refresh(the("charts"), [round, page.charts], () => {
    drawn = 0;
    return make("div", { class: "charts" }, page.charts.map((chart) => one(round, chart)));
  });
  if (page.version === version || Date.now() - drawn < EVERY) return;
  version = page.version;
  drawn = Date.now();
  for (const picture of document.querySelectorAll("#charts picture")) {
    for (const part of picture.children) {
      const address = `${part.dataset.address}&v=${version}`;
      if (part.tagName === "IMG") part.src = address;
      else part.srcset = address;
    }
  }
}

function one(round, chart) {
  const asked = { round, ...(chart.question && { question: chart.question }) };
  const address = (theme, width) => `/api/owner/charts/${chart.name}.svg?${new URLSearchParams({ ...asked, theme, width })}`;
  const source = (media, theme, width) => make("source", { media, data: { address: address(theme, width) } });
  return make(
    "figure",
    { class: chart.reason ? "card chart empty" : "card chart" },
    make("h3", {}, chart.title),
    make("figcaption", {}, chart.reason || chart.about),
    ...(chart.reason ? [] : drawing(chart, asked, address, source)),
  );
}

function drawing(chart, asked, address, source) {
  return [
    make("picture", {},
      source("(max-width: 47rem) and (prefers-color-scheme: dark)", "dark", "narrow"),
      source("(max-width: 47rem)", "light", "narrow"),
      source("(prefers-color-scheme: dark)", "dark", "wide"),
      make("img", { alt: `${chart.title}. ${chart.about} The table beneath has the numbers.`, data: { address: address("light", "wide") } })),
    make("details", { data: { key: `table-${chart.name}-${chart.question}` }, ontoggle: (event) => fill(event.target, chart, asked) },
      make("summary", {}, "As a table"),
      make("div", { class: "scrolls" }),
      make("p", {}, make("a", { href: `/api/owner/charts/${chart.name}.csv?${new URLSearchParams(asked)}`, download: "" }, "Download CSV"))),
  ];
}

async function fill(details, chart, asked) {
  if (!details.open) return;
  const into = details.querySelector(".scrolls");
  try {
    const { caption, headings, rows } = await get(`/api/owner/charts/${chart.name}.json`, asked);
    into.replaceChildren(make("table", {},
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, headings.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, rows.map((row) => make("tr", {}, make("th", { scope: "row" }, row[0]), row.slice(1).map((cell) => make("td", {}, cell)))))));
  } catch (problem) {
    into.textContent = problem.said ?? String(problem);
  }
}
