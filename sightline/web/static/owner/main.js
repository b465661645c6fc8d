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
let told = null;
let asking = null;
let quiet = 0;

async function look() {
  // One question at a time: a slow answer must not overtake a newer one.
  asking ??= get("/api/owner/overview", { round })
    .then((found) => {
      told = found;
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
  $("title").textContent = told.title;
  $("mode").textContent = `${told.round} · ${told.mode}`;
  const open = told.state === "open";
  $("pause").hidden = false;
  $("pause").textContent = open ? "Pause" : "Go on";
  $("paused").hidden = open;
  $("download").href = `/api/owner/judgements.csv?${new URLSearchParams({ round: told.round })}`;
  refresh($("round"), told.rounds, () => told.rounds.map((name) => make("option", { value: name }, name)));
  $("round").value = told.round;
  $("round-part").hidden = told.rounds.length < 2;
  const language = document.forms.invite.elements.language;
  refresh(language, told.languages, () => [make("option", { value: "" }, "the original"), ...told.languages.map((name) => make("option", { value: name }, name))]);
  $("language-part").hidden = !told.languages.length;
  showProgress(told);
  showPeople(told, act);
  showDisputes(told, act);
  showQuality(told);
  showCharts(told);
  refresh($("troubles"), told.troubles, () => told.troubles.map((said) => make("p", { class: "notice" }, said)));
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
  if (told.state !== "open") return act("resume", { round: told.round });
  const text = "Nobody gets new pages until you let it go on. What is on a screen can still be answered.";
  if (await sure({ title: `Pause ${told.round}?`, text, yes: "Pause", danger: false })) await act("pause", { round: told.round });
});

$("round").addEventListener("change", () => { location.search = new URLSearchParams({ round: $("round").value }); });

$("invite").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const { name, role, days, language } = Object.fromEntries(new FormData(form));
  const made = await act("invite", { round: told.round, name, role, days: Number(days), language: language || null });
  if (!made) return;
  form.elements.name.value = "";
  await showLink(name.trim(), made);
});

$("again").addEventListener("submit", async (event) => {
  event.preventDefault();
  const { share, by, seed } = Object.fromEntries(new FormData(event.target));
  const whom = by === "same" ? "the same people" : "other people";
  const text = `${Math.round(share * 100)} % of the finished work goes out once more, to ${whom}. That cannot be taken back.`;
  if (await sure({ title: "Have work judged again?", text, yes: "Draw", danger: false })) {
    await act("again", { round: told.round, share: Number(share), by, seed: Number(seed) });
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
