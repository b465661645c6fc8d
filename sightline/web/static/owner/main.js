// The owner's page: asks how the round stands every few seconds, and shows what changed.

import { get, post, Unreachable, upload, words } from "../shared/api.js";
import { say, sure } from "../shared/dialogs.js";
import { make, refresh, the } from "../shared/elements.js";
import { showCharts } from "./charts.js";
import { showDisputes } from "./disputes.js";
import { showLink } from "./link.js";
import { showPeople } from "./people.js";
import { showProgress } from "./progress.js";
import { showQuality } from "./quality.js";
import { showRemarks } from "./remarks.js";

const EVERY = 5_000;
const round = new URLSearchParams(location.search).get("round") ?? "";
let page = null;
let asking = null;

async function look() {
  // One question at a time: a slow answer must not overtake a newer one.
  asking ??= get("/api/owner/overview", { round })
    .then((received) => {
      page = received;
      show();
      the("live").textContent = `Live, ${new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" })}`;
      the("live").classList.add("on");
    })
    .catch((problem) => {
      the("live").textContent = problem instanceof Unreachable ? `${problem.message}. Trying again.` : words(problem);
      the("live").classList.remove("on");
    })
    .finally(() => { asking = null; });
  return asking;
}

function show() {
  the("all").hidden = false;
  const { overview } = page;
  the("title").textContent = page.title;
  the("mode").textContent = `${overview.round} · ${overview.mode}`;
  const open = overview.state === "open";
  the("pause").hidden = false;
  the("pause").textContent = open ? "Pause" : "Resume";
  the("paused").hidden = open;
  the("download").href = `/api/owner/judgements.csv?${new URLSearchParams({ round: overview.round })}`;
  refresh(the("round"), page.rounds, () => page.rounds.map((name) => make("option", { value: name }, name)));
  the("round").value = overview.round;
  the("round-part").hidden = page.rounds.length < 2;
  const language = document.forms.invite.elements.language;
  refresh(language, page.languages, () => [make("option", { value: "" }, "the original"), ...page.languages.map((name) => make("option", { value: name }, name))]);
  the("language-part").hidden = !page.languages.length;
  showProgress(overview);
  showPeople(overview, act);
  showDisputes(page, act);
  showRemarks(page.overview);
  showQuality(overview);
  showCharts(page);
  refresh(the("troubles"), overview.notes, () => overview.notes.map((note) => make("p", { class: "notice" }, note)));
}

// Does something and says what came of it; gives the answer, or nothing where it failed.
async function act(what, body) {
  return report(() => post(`/api/owner/${what}`, body));
}

async function report(doing) {
  let made = null;
  the("failed").hidden = true;
  try {
    made = await doing();
    if (made.message) say(made.message);
  } catch (problem) {
    the("failed").textContent = words(problem);
    the("failed").hidden = false;
    the("failed").scrollIntoView({ block: "nearest" });
  }
  await asking;
  await look();
  return made;
}

the("pause").addEventListener("click", async () => {
  const { round, state } = page.overview;
  if (state !== "open") return act("resume", { round });
  const text = "No new tasks are assigned until you resume. What is on a screen can still be answered.";
  if (await sure({ title: `Pause ${round}?`, text, yes: "Pause", danger: false })) await act("pause", { round });
});

the("round").addEventListener("change", () => { location.search = new URLSearchParams({ round: the("round").value }); });

the("invite").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const { name, role, days, language } = Object.fromEntries(new FormData(form));
  const made = await act("invite", { round: page.overview.round, name, role, days: Number(days), language: language || null });
  if (!made) return;
  form.elements.name.value = "";
  await showLink(name.trim(), made);
});

the("again").addEventListener("submit", async (event) => {
  event.preventDefault();
  const { share, by, seed } = Object.fromEntries(new FormData(event.target));
  const whom = by === "same" ? "the same people" : "other people";
  const text = `${Math.round(share * 100)} % of the finished work goes out once more, to ${whom}. This cannot be undone.`;
  if (await sure({ title: "Have work judged again?", text, yes: "Draw", danger: false })) {
    await act("again", { round: page.overview.round, share: Number(share), by, seed: Number(seed) });
  }
});

the("upload").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const file = form.elements.file.files[0];
  if (file && (await report(() => upload("/api/owner/judgements", file)))) form.reset();
});

document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
setInterval(() => { if (!document.hidden) look(); }, EVERY);
look();
