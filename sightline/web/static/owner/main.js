// The owner's page: asks how the round stands every few seconds, and shows what changed.

import { get, post, Problem, upload } from "./api.js";
import { showCharts } from "./charts.js";
import { showLink, sure } from "./dialogs.js";
import { showDisputes } from "./disputes.js";
import { $, make, refresh } from "./elements.js";
import { showPeople } from "./people.js";
import { showProgress } from "./progress.js";
import { showQuality } from "./quality.js";

const EVERY = 5_000;
const round = new URLSearchParams(location.search).get("round") ?? "";
let page = null;
let asking = null;
let quiet = 0;

async function look() {
  // One question at a time: a slow answer must not overtake a newer one.
  asking ??= get("/api/owner/overview", { round })
    .then((received) => {
      page = received;
      show();
      $("live").textContent = `Live, ${new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" })}`;
      $("live").classList.add("on");
    })
    .catch((problem) => {
      $("live").textContent = problem instanceof Problem ? problem.said : String(problem);
      $("live").classList.remove("on");
    })
    .finally(() => { asking = null; });
  return asking;
}

function show() {
  $("all").hidden = false;
  const { overview } = page;
  $("title").textContent = page.title;
  $("mode").textContent = `${overview.round} · ${overview.mode}`;
  const open = overview.state === "open";
  $("pause").hidden = false;
  $("pause").textContent = open ? "Pause" : "Resume";
  $("paused").hidden = open;
  $("download").href = `/api/owner/judgements.csv?${new URLSearchParams({ round: overview.round })}`;
  refresh($("round"), page.rounds, () => page.rounds.map((name) => make("option", { value: name }, name)));
  $("round").value = overview.round;
  $("round-part").hidden = page.rounds.length < 2;
  const language = document.forms.invite.elements.language;
  refresh(language, page.languages, () => [make("option", { value: "" }, "the original"), ...page.languages.map((name) => make("option", { value: name }, name))]);
  $("language-part").hidden = !page.languages.length;
  showProgress(overview);
  showPeople(overview, act);
  showDisputes(page, act);
  showQuality(overview);
  showCharts(page);
  refresh($("troubles"), overview.notes, () => overview.notes.map((note) => make("p", { class: "notice" }, note)));
}

// Does something and says what came of it; gives the answer, or nothing where it failed.
async function act(what, body) {
  return report(() => post(`/api/owner/${what}`, body));
}

async function report(doing) {
  let made = null;
  $("failed").hidden = true;
  try {
    made = await doing();
    if (made.message) say(made.message);
  } catch (problem) {
    $("failed").textContent = problem instanceof Problem ? problem.said : String(problem);
    $("failed").hidden = false;
    $("failed").scrollIntoView({ block: "nearest" });
  }
  await asking;
  await look();
  return made;
}

function say(message) {
  $("said").textContent = message;
  $("said").hidden = false;
  clearTimeout(quiet);
  quiet = setTimeout(() => { $("said").hidden = true; }, 8_000);
}

$("pause").addEventListener("click", async () => {
  const { round, state } = page.overview;
  if (state !== "open") return act("resume", { round });
  const text = "No new tasks are assigned until you resume. What is on a screen can still be answered.";
  if (await sure({ title: `Pause ${round}?`, text, yes: "Pause", danger: false })) await act("pause", { round });
});

$("round").addEventListener("change", () => { location.search = new URLSearchParams({ round: $("round").value }); });

$("invite").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const { name, role, days, language } = Object.fromEntries(new FormData(form));
  const made = await act("invite", { round: page.overview.round, name, role, days: Number(days), language: language || null });
  if (!made) return;
  form.elements.name.value = "";
  await showLink(name.trim(), made);
});

$("again").addEventListener("submit", async (event) => {
  event.preventDefault();
  const { share, by, seed } = Object.fromEntries(new FormData(event.target));
  const whom = by === "same" ? "the same people" : "other people";
  const text = `${Math.round(share * 100)} % of the finished work goes out once more, to ${whom}. This cannot be undone.`;
  if (await sure({ title: "Have work judged again?", text, yes: "Draw", danger: false })) {
    await act("again", { round: page.overview.round, share: Number(share), by, seed: Number(seed) });
  }
});

$("upload").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const file = form.elements.file.files[0];
  if (file && (await report(() => upload("/api/owner/judgements", file)))) form.reset();
});

document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
setInterval(() => { if (!document.hidden) look(); }, EVERY);
look();
