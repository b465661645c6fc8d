// The page where images are dropped and matched to prompts by hand; what is matched is sent one by one.

import { get, post, put, words } from "../shared/api.js";
import { count, make, the } from "../shared/elements.js";

const API = "/api/view/match";
const NAMES_AT_ONCE = 500;
const KINDS = /\.(png|jpe?g|webp|gif|bmp|tiff?)$/i;
// Every image that was dropped: its file, the prompt and sample it is matched to, and whether it was sent.
const items = [];
let current = null;
let number = null;
let asked = 0;

function fail(said) {
  the("failed").textContent = said;
  the("failed").hidden = !said;
}

const system = () => the("system").value.trim();
const ready = () => items.filter((item) => item.prompt && !item.sent);

function summary() {
  const sent = items.filter((item) => item.sent).length;
  const open = items.filter((item) => !item.prompt && !item.sent).length;
  the("said").textContent = `${count(items.length, "image")}: ${ready().length} matched, ${open} not matched, ${sent} added.`
    + (number ? ` They are import ${number} of the study, which sightline undo undoes.` : "");
  the("send").disabled = !ready().length;
  the("send").textContent = ready().length ? `Add ${count(ready().length, "image")}` : "Add";
}

function show(item) {
  const { prompt } = item;
  item.box.classList.toggle("done", item.sent);
  item.box.setAttribute("aria-current", String(item === current));
  item.to.textContent = prompt ? prompt.text : "Not matched: choose it, then choose a prompt.";
  item.sample.disabled = !prompt || item.sent;
  item.clear.hidden = !prompt || item.sent;
  item.trouble.textContent = item.sent ? `Added as sample ${item.sample.value}.` : item.said;
}

function choose(item) {
  const before = current;
  current = item;
  if (before) show(before);
  if (item) show(item);
}

function match(item, prompt, sample = null) {
  item.prompt = prompt;
  item.said = "";
  item.sample.value = sample ?? "";
  show(item);
  summary();
}

function card(file) {
  const item = { file, prompt: null, sent: false, said: "" };
  const address = URL.createObjectURL(file);
  const picture = make("img", { src: address, alt: "", loading: "lazy" });
  const pick = make("button", { type: "button", class: "pick", "aria-label": `Choose ${file.name}` }, picture);
  pick.addEventListener("click", () => choose(item));
  item.to = make("p", { class: "to" });
  item.sample = make("input", { type: "number", min: 0, max: 999999, placeholder: "next", "aria-label": `Sample of ${file.name}` });
  item.clear = make("button", { type: "button", class: "plain small" }, "Undo match");
  item.clear.addEventListener("click", () => match(item, null));
  item.trouble = make("p", { class: "trouble" });
  item.box = make("li", { class: "item" }, pick, make("span", { class: "name" }, file.name), item.to,
    make("div", { class: "row" }, make("label", {}, "Sample", item.sample), item.clear), item.trouble);
  items.push(item);
  the("images").append(item.box);
  show(item);
  return item;
}

async function add(files) {
  const taken = [...files].filter((file) => KINDS.test(file.name));
  const others = files.length - taken.length;
  fail(others ? `${count(others, "file")} left: not called like an image.` : "");
  if (!taken.length) return;
  the("matching").hidden = false;
  const fresh = taken.map(card);
  summary();
  try {
    for (let from = 0; from < fresh.length; from += NAMES_AT_ONCE) {
      const some = fresh.slice(from, from + NAMES_AT_ONCE);
      const guesses = await post(`${API}/names`, { names: some.map((item) => item.file.name), system: system() });
      guesses.forEach((guess, place) => { if (guess.prompt) match(some[place], guess.prompt, guess.sample); });
    }
  } catch (problem) {
    fail(words(problem));
  }
  choose(fresh.find((item) => !item.prompt) ?? null);
  await search();
}

async function search() {
  const mine = ++asked;
  try {
    const found = await get(`${API}/prompts`, { q: the("search").value.trim(), system: system() });
    if (mine !== asked) return;
    const shown = found.prompts.length < found.total ? `, the first ${found.prompts.length} shown` : "";
    the("found").textContent = `${count(found.total, "prompt")}${shown}.`;
    the("prompts").replaceChildren(...found.prompts.map((prompt) => {
      const has = prompt.samples.length ? ` · has ${count(prompt.samples.length, "image")}` : "";
      const button = make("button", { type: "button" }, prompt.text, make("small", {}, `${prompt.suite} ${prompt.ref}${has}`));
      button.addEventListener("click", () => {
        if (!current || current.sent) return fail("Choose an image first.");
        fail("");
        match(current, prompt);
        choose(items.find((item) => !item.prompt && !item.sent) ?? current);
        return undefined;
      });
      return make("li", {}, button);
    }));
  } catch (problem) {
    if (mine === asked) fail(words(problem));
  }
}

async function send() {
  if (!the("drop").reportValidity()) return;
  the("send").disabled = true;
  fail("");
  for (const item of ready()) {
    const values = { name: item.file.name, prompt: item.prompt.id, system: system(), sample: item.sample.value, number: number ?? "" };
    try {
      const kept = await put(`${API}/images`, values, item.file);
      number = kept.number;
      item.sent = true;
      item.sample.value = kept.sample;
    } catch (problem) {
      item.said = words(problem);
    }
    show(item);
    summary();
  }
  await search();
}

async function start() {
  the("files").addEventListener("change", () => add(the("files").files));
  the("drop").addEventListener("submit", (event) => event.preventDefault());
  the("send").addEventListener("click", send);
  the("search").addEventListener("input", search);
  the("system").addEventListener("change", search);
  addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    add(event.dataTransfer.files);
  });
  try {
    const study = await get("/api/view/study");
    the("systems").replaceChildren(...study.systems.map(({ name }) => make("option", { value: name })));
  } catch (problem) {
    fail(words(problem));
  }
}

start();
