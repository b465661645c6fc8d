// The page that predicts prompts: sends what was typed, and shows what is expected of it.

import { post, send, words } from "../shared/api.js";
import { count, make, refresh, the } from "../shared/elements.js";
import { prediction } from "./predictions.js";
import { lines, promptsOf } from "./reading.js";

const API = "/api/owner/predict";
const AT_ONCE = 100;
// What was asked last and what is known of it; a run that is not the last has been stopped.
let latest = null;
let run = 0;
let shown = AT_ONCE;

const picked = () => document.querySelector("input[name=target]:checked").value;

function fail(where, said) {
  the(where).textContent = said;
  the(where).hidden = !said;
}

// Says how long it has been at work, so that nobody takes it for dead.
function clock(said, doing) {
  const began = Date.now();
  const tell = () => {
    const passed = Math.round((Date.now() - began) / 1000);
    said.textContent = passed < 2 ? `${doing()} …` : `${doing()}, for ${passed} s. The first time takes longer: weights are loaded.`;
  };
  tell();
  const ticking = setInterval(tell, 1_000);
  return { tell, end: () => clearInterval(ticking) };
}

function showTier() {
  const { tier, why, coverage, prompts } = latest;
  const many = prompts.length > Number(the("ask").dataset.listed);
  the("tier").textContent = `By the ${tier} tier${why ? ` (${why.replace(/[.\s]*$/, "")})` : ""}. The bands hold for about ${Math.round(coverage * 100)} % of prompts like those it learned from.`
    + (many ? ` Words are weighed in lists of up to ${the("ask").dataset.listed} prompts.` : "");
  document.querySelector(".legend").hidden = many;
}

function ordered() {
  const order = the("order").value;
  const places = latest.predictions.map((each, place) => ({ each, place }));
  if (order === "given") return places;
  const value = ({ each }) => each.expected[picked()]?.value;
  // What nothing is expected of stands last, in either order.
  const [known, unknown] = [places.filter(({ each }) => !each.refused), places.filter(({ each }) => each.refused)];
  known.sort((one, other) => (order === "hard" ? 1 : -1) * (value(one) - value(other)));
  return [...known, ...unknown];
}

function show() {
  const rest = latest.predictions.length - shown;
  refresh(the("predictions"), [latest.run, latest.predictions.length, latest.weighed, picked(), the("order").value, shown], () => {
    const made = ordered().slice(0, shown).map(({ each, place }) => prediction(each, latest.targets, picked(), { button: each.refused ? null : rewordButton(each, place) }));
    if (rest > 0) made.push(make("li", {}, make("button", { type: "button", class: "plain", onclick: more }, `Show ${count(rest, "more prompt")}`)));
    return made;
  });
}

function more() {
  const first = shown;
  shown = Number.MAX_SAFE_INTEGER;
  show();
  the("predictions").children[first].querySelector("button")?.focus();
}

function rewordButton({ prompt }, place) {
  const start = () => {
    the("reword-prompt").value = prompt;
    the("candidates").focus();
  };
  return make("button", { type: "button", class: "plain small", data: { key: `reword-${place}` }, onclick: start }, "Reword", make("span", { class: "hidden" }, `: ${prompt.slice(0, 80)}`));
}

// Asks in parts that each take a second or so: the slowest tier is a hundred times slower than the fastest.
async function inParts(mine, explain, most, took) {
  let size = 4;
  for (let at = 0; at < mine.prompts.length && run === mine.run;) {
    const began = Date.now();
    const found = await post(API, { prompts: mine.prompts.slice(at, at + size), tier: mine.tier, explain });
    if (run !== mine.run) return;
    took(found, at);
    at += found.predictions.length;
    const passed = Date.now() - began;
    if (passed < 700) size = Math.min(2 * size, most);
    else if (passed > 2_500) size = Math.max(1, Math.floor(size / 2));
  }
}

function tooMany(prompts) {
  const [most, characters] = [Number(the("ask").dataset.prompts), Number(the("ask").dataset.characters)];
  const length = prompts.reduce((sum, each) => sum + [...each].length, 0);
  const remedy = "Take fewer, or give the file to sightline predict --file.";
  if (prompts.length > most) return `${count(prompts.length)} prompts are too many: ${count(most)} at once. ${remedy}`;
  return length > characters ? `${count(length)} characters are too many: ${count(characters)} at once. ${remedy}` : "";
}

async function predict(mine) {
  const total = mine.prompts.length;
  let done = 0;
  let doing = "Predicting";
  const { tell, end } = clock(the("working-said"), () => (total > 1 ? `${doing}: ${count(done)} of ${count(total)}` : doing));
  const button = the("ask").querySelector(".primary");
  const step = (number) => {
    done = number;
    the("bar").value = done / total;
    tell();
  };
  the("bar").removeAttribute("value");
  the("working").hidden = false;
  button.disabled = true;
  try {
    await inParts(mine, false, 100, (found, at) => {
      if (at === 0) {
        latest = { ...found, run: mine.run, prompts: mine.prompts, asked: mine.tier, predictions: [], weighed: 0 };
        shown = AT_ONCE;
        the("results").hidden = false;
        showTier();
      }
      latest.predictions.push(...found.predictions);
      step(latest.predictions.length);
      show();
      if (at === 0) the("results-title").scrollIntoView({ block: "nearest" });
    });
    if (run !== mine.run) return;
    const none = latest.predictions.filter((each) => each.refused).length;
    the("said").textContent = `${count(total - none, "prompt")} predicted${none ? `, ${none} not` : ""}.`;
    button.disabled = false;
    if (total > Number(the("ask").dataset.listed)) return;
    doing = "Weighing words";
    step(0);
    await inParts(mine, true, 20, (found, at) => {
      latest.predictions.splice(at, found.predictions.length, ...found.predictions);
      latest.weighed = at + found.predictions.length;
      step(latest.weighed);
      show();
    });
  } catch (problem) {
    if (run === mine.run) fail("failed", words(problem));
  } finally {
    end();
    if (run === mine.run) stop();
  }
}

function stop() {
  run += 1;
  the("working").hidden = true;
  the("ask").querySelector(".primary").disabled = false;
}

the("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const prompts = lines(the("prompts").value);
  if (!prompts.length || event.target.querySelector(".primary").disabled) return;
  the("said").textContent = "";
  fail("failed", tooMany(prompts));
  if (!the("failed").hidden) return;
  run += 1;
  predict({ run, prompts, tier: event.target.elements.tier.value || null });
});

the("stop").addEventListener("click", () => {
  stop();
  the("said").textContent = "Stopped.";
  the("ask").querySelector(".primary").focus();
});

the("ask").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) the("ask").requestSubmit();
});

async function take(file) {
  fail("failed", "");
  try {
    const prompts = await promptsOf(file);
    the("prompts").value = prompts.join("\n");
    the("said").textContent = `${count(prompts.length, "prompt")} of ${file.name}.`;
  } catch (problem) {
    the("said").textContent = "";
    fail("failed", words(problem));
  }
}

the("file").addEventListener("change", () => { if (the("file").files[0]) take(the("file").files[0]); });

// Without this a file dropped next to the field would be opened instead of the page.
for (const what of ["dragover", "drop"]) {
  document.addEventListener(what, (event) => { if (event.dataTransfer?.types.includes("Files")) event.preventDefault(); });
}
the("ask").addEventListener("dragover", (event) => the("ask").classList.toggle("dropping", Boolean(event.dataTransfer?.types.includes("Files"))));
for (const what of ["dragleave", "drop"]) the("ask").addEventListener(what, () => the("ask").classList.remove("dropping"));
the("ask").addEventListener("drop", (event) => { if (event.dataTransfer?.files[0]) take(event.dataTransfer.files[0]); });

for (const each of document.querySelectorAll("input[name=target]")) each.addEventListener("change", show);
the("order").addEventListener("change", show);

the("download").addEventListener("click", async () => {
  the("download").disabled = true;
  fail("failed", "");
  try {
    const prompts = latest.predictions.map((each) => each.prompt);
    const reply = await send(`${API}/table.csv`, { prompts, tier: latest.asked });
    const address = URL.createObjectURL(await reply.blob());
    make("a", { href: address, download: "predicted.csv" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  } catch (problem) {
    fail("failed", words(problem));
    the("failed").scrollIntoView({ block: "nearest" });
  } finally {
    the("download").disabled = false;
  }
});

the("reword").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const button = form.querySelector(".primary");
  const prompt = the("reword-prompt").value.trim();
  const candidates = lines(the("candidates").value);
  if (!prompt || !candidates.length || button.disabled) return;
  const by = form.elements.by.value;
  button.disabled = true;
  the("ranking").hidden = false;
  fail("ranked-failed", "");
  the("ranked-said").textContent = "";
  const { end } = clock(the("ranking-said"), () => "Ranking");
  try {
    const found = await post(`${API}/suggest`, { prompt, candidates, by, tier: the("ask").elements.tier.value || null });
    the("ranked-said").textContent = verdict(found, prompt, by);
    the("ranked").replaceChildren(...found.predictions.map((each, place) =>
      prediction(each, found.targets, by, { rank: each.refused ? 0 : place + 1, own: each.prompt === prompt })));
  } catch (problem) {
    fail("ranked-failed", words(problem));
  } finally {
    end();
    button.disabled = false;
    the("ranking").hidden = true;
  }
});

function verdict({ predictions, targets }, prompt, by) {
  const of = (found) => found?.expected[by];
  const title = targets[by].title;
  const [best, own] = [predictions[0], predictions.find((each) => each.prompt === prompt)];
  if (!of(best)) return "Nothing can be said of any of them.";
  if (!of(own)) return `Most is expected of the first, ${title} ${of(best).value.toFixed(2)}.`;
  const gain = of(best).value - of(own).value;
  if (best === own || gain < 0.005) return "Of none is more expected than of the prompt as it is now.";
  const far = of(best).low > of(own).high;
  return `The first is expected to do better by ${gain.toFixed(2)} ${title}${far ? "." : ", which is less than the intervals are wide: take it as a hint."}`;
}

// A form that was sent before it is listened to would be a plain one, with the prompts in the address.
for (const each of document.querySelectorAll("form .primary")) each.disabled = false;
