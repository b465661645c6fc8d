// The page of seeds: search a collection in any wording, mark what a query asks for, extend the sets and judge them.

import { get, post, words } from "../shared/api.js";
import { count, make, the } from "../shared/elements.js";

const API = "/api/view/seeds";
// The images marked for the query in work, the wordings tried since it was begun, and the queries there are.
const chosen = new Map();
let tried = [];
let queries = [];
let current = null;
let asked = 0;

function fail(said) {
  the("failed").textContent = said;
  the("failed").hidden = !said;
}

function summary() {
  the("said").textContent = chosen.size
    ? `${count(chosen.size, "image")} marked. Tried: ${[...new Set(tried)].join("; ") || "nothing yet"}.`
    : "Nothing is marked yet.";
  the("keep").disabled = !chosen.size;
}

function hit(found) {
  const picture = found.sha256
    ? make("img", { src: `/api/view/thumbs/${found.sha256}.webp`, alt: "", loading: "lazy" })
    : make("span", {}, "No file of this image is in the study.");
  const button = make("button", { type: "button", class: "hit", "aria-pressed": String(chosen.has(found.image)),
    "aria-label": `Seed: ${found.caption || found.name}` }, picture, make("span", {}, found.caption || found.name));
  button.addEventListener("click", () => {
    if (!chosen.delete(found.image)) chosen.set(found.image, found.name);
    button.setAttribute("aria-pressed", String(chosen.has(found.image)));
    summary();
  });
  return make("li", {}, button);
}

async function search() {
  const q = the("search").value.trim() || the("text").value.trim();
  if (!q) return;
  const mine = ++asked;
  the("found").textContent = "Searching …";
  try {
    const found = await get(`${API}/search`, { collection: the("collection").value, q });
    if (mine !== asked) return;
    fail("");
    tried.push(q);
    the("found").textContent = `${count(found.hits.length, "image")} by ${found.engine}.`;
    the("hits").replaceChildren(...found.hits.map(hit));
    summary();
  } catch (problem) {
    if (mine === asked) {
      the("found").textContent = "";
      fail(words(problem));
    }
  }
}

function take(query) {
  current = query;
  the("text").value = query?.text ?? "";
  the("search").value = "";
  chosen.clear();
  for (const image of query?.seeds ?? []) chosen.set(image, "");
  tried = [];
  summary();
  if (query) search();
}

function list() {
  const ready = queries.filter((query) => query.seeds.length);
  the("made").replaceChildren(...ready.map((query) => {
    const also = query.searched.length ? ` · searched ${query.searched.join("; ")}` : "";
    const button = make("button", { type: "button" }, query.text, make("small", {}, count(query.seeds.length, "seed") + also));
    button.addEventListener("click", () => take(query));
    return make("li", {}, button);
  }));
  the("queries").replaceChildren(...queries.map(({ text }) => make("option", { value: text })));
}

async function keep(event) {
  event.preventDefault();
  const text = the("text").value.trim();
  const known = queries.find((query) => query.text === text) ?? (current?.text === text ? current : null);
  const body = { text, query: known?.id ?? null, kind: the("kind").value, images: [...chosen.keys()], searched: [...new Set(tried)] };
  try {
    const kept = await post(API, body);
    await load();
    take(null);
    the("hits").replaceChildren();
    the("found").textContent = "";
    fail("");
    the("said").textContent = `${count(kept.query.seeds.length, "seed")} of "${kept.query.text}" kept as import ${kept.number}.`;
  } catch (problem) {
    fail(words(problem));
  }
}

async function extend(event) {
  event.preventDefault();
  the("extended").textContent = "Looking for images like the seeds …";
  try {
    const made = await post(`${API}/extend`, { collection: the("collection").value, name: the("round").value, neighbours: Number(the("neighbours").value) });
    the("extended").replaceChildren(`${count(made.pairs, "image")} of ${count(made.queries, "query", "queries")} to judge. To have them judged: `, make("code", {}, made.command));
    fail("");
  } catch (problem) {
    the("extended").textContent = "";
    fail(words(problem));
  }
}

async function load() {
  const places = await get(API);
  queries = places.queries;
  const kept = the("collection").value;
  the("collection").replaceChildren(...places.collections.map((name) => make("option", { value: name }, name)));
  if (places.collections.includes(kept)) the("collection").value = kept;
  list();
}

async function start() {
  the("query").addEventListener("submit", keep);
  the("find").addEventListener("submit", (event) => { event.preventDefault(); search(); });
  the("extend").addEventListener("submit", extend);
  the("text").addEventListener("change", () => {
    const known = queries.find((query) => query.text === the("text").value.trim());
    if (known) take(known);
  });
  try {
    await load();
    summary();
  } catch (problem) {
    fail(words(problem));
  }
}

start();
