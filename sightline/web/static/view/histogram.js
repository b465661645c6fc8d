// A number as a filter: its distribution, a range to draw over it with the mouse, two handles and two fields.

import { get, words } from "../shared/api.js";
import { count, make } from "../shared/elements.js";
import { matching, NONE, range, rangeText } from "./state.js";
import { better, figure } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";
const STEPS = 200;

/** The parts of a number's filter. `change` is called with a range as it stands in an address. Where there are very many
 *  fields, the server has not counted this one yet, and is asked to. */
export function histogram(field, text, change, state) {
  if (field.bins) return parts(field, text, change);
  const body = make("div", {}, make("p", { class: "quiet" }, "Loading …"));
  const query = [new URLSearchParams({ of: field.id }), matching(state)].filter(String).join("&");
  get(`/api/view/fields?${query}`).then(
    ({ fields: [counted] }) => body.replaceChildren(...parts(counted, text, change)),
    (problem) => body.replaceChildren(make("p", { class: "quiet" }, words(problem))),
  );
  return [body];
}

function parts(field, text, change) {
  const { low, high } = field;
  if (low === null) return [make("p", { class: "quiet" }, "No image has a value.")];
  const chosen = range(text);
  const span = high - low || 1;
  const step = field.whole ? 1 : span / STEPS;
  const bars = drawBars(field);
  const band = make("span", { class: "band" });
  const handle = (end, label) => make("input", { type: "range", class: `handle ${end}`, min: low, max: high, step: field.whole ? 1 : "any", "aria-label": `${label} of ${field.label}`, data: { key: `${field.id}-${end}-handle` } });
  const box = (end, label) => make("input", { type: "number", step: "any", "aria-label": `${label} of ${field.label}`, placeholder: figure(end === "low" ? low : high), data: { key: `${field.id}-${end}` } });
  const handles = { low: handle("low", "Lowest value"), high: handle("high", "Highest value") };
  const boxes = { low: box("low", "Lowest value"), high: box("high", "Highest value") };
  const plot = make("div", { class: "plot", title: "Drag to choose a range" }, bars, band);
  const now = { ...chosen };

  const draw = () => {
    const from = now.low ?? low;
    const to = now.high ?? high;
    handles.low.value = from;
    handles.high.value = to;
    for (const end of ["low", "high"]) boxes[end].value = now[end] ?? "";
    const at = (given) => Math.max(0, Math.min(100, (100 * (given - low)) / span));
    band.style.left = `${at(from)}%`;
    band.style.width = `${Math.max(0, at(to) - at(from))}%`;
    band.hidden = now.low === null && now.high === null;
  };
  const round = (given) => (field.whole ? Math.round(given) : Number(given.toPrecision(4)));
  const give = () => change(rangeText(now));
  for (const end of ["low", "high"]) {
    handles[end].addEventListener("input", () => {
      const value = Number(handles[end].value);
      const edge = end === "low" ? value <= low : value >= high;
      now[end] = edge ? null : round(value);
      if (end === "low" && now.low !== null && now.low > (now.high ?? high)) now.low = now.high ?? high;
      if (end === "high" && now.high !== null && now.high < (now.low ?? low)) now.high = now.low ?? low;
      draw();
    });
    // A free slider moves by a hair per key: give it steps that can be seen.
    handles[end].addEventListener("keydown", (event) => {
      const way = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
      if (!way) return;
      event.preventDefault();
      handles[end].value = Number(handles[end].value) + way * (field.whole ? step : span / 50);
      handles[end].dispatchEvent(new Event("input"));
      clearTimeout(handles[end].waits);
      handles[end].waits = setTimeout(give, 350);
    });
    handles[end].addEventListener("change", give);
    boxes[end].addEventListener("change", () => {
      now[end] = boxes[end].value === "" ? null : Number(boxes[end].value);
      give();
    });
  }
  brush(plot, (from, to) => {
    Object.assign(now, { low: round(low + from * span), high: round(low + to * span) });
    draw();
  }, give);
  draw();
  return [
    make("div", { class: "histogram" }, plot, make("div", { class: "handles" }, handles.low, handles.high)),
    make("div", { class: "ends" }, boxes.low, make("span", { "aria-hidden": "true" }, "–"), boxes.high,
      text ? make("button", { type: "button", class: "plain small", data: { key: `${field.id}-clear` }, onclick: () => change("") }, "Clear") : ""),
    make("p", { class: "quiet spread" }, make("span", {}, `${count(field.n)} with a value; ${better(field.direction)}`),
      field.missing ? make("button", { type: "button", class: "link", "aria-pressed": String(chosen.none), data: { key: `${field.id}-none` }, onclick: () => change(chosen.none ? "" : NONE) }, `${count(field.missing)} without`) : ""),
  ];
}

function drawBars({ bins = [], label }) {
  const most = Math.max(1, ...bins.map(({ n }) => n));
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${bins.length || 1} 100`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `Distribution of ${label}`);
  bins.forEach(({ n, low, high }, at) => {
    if (!n) return;
    const bar = document.createElementNS(SVG, "rect");
    const tall = Math.max(3, (100 * n) / most);
    for (const [name, value] of Object.entries({ x: at + 0.06, width: 0.88, y: 100 - tall, height: tall })) bar.setAttribute(name, value);
    const title = document.createElementNS(SVG, "title");
    title.textContent = `${figure(low)} to ${figure(high)}: ${count(n)}`;
    bar.append(title);
    svg.append(bar);
  });
  return svg;
}

/** Draw a range with the mouse or a finger, as fractions of the width. */
function brush(plot, move, end) {
  let start = null;
  const at = (event) => {
    const box = plot.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
  };
  plot.addEventListener("pointerdown", (event) => {
    start = at(event);
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointermove", (event) => {
    if (start === null) return;
    const here = at(event);
    if (Math.abs(here - start) > 0.01) move(Math.min(start, here), Math.max(start, here));
  });
  plot.addEventListener("pointerup", (event) => {
    if (start === null) return;
    const moved = Math.abs(at(event) - start) > 0.01;
    start = null;
    if (moved) end();
  });
}
