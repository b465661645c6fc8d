// The chart strip: each system with its mean and interval, or its counts by category. All of it leads to the images behind it.

import { count, make } from "../shared/elements.js";
import { figure } from "./words.js";

const SHADES = 4;

/** The chart of a field, from what the server answered. `follow(address)` goes where a part leads to. */
export function chart(field, { rows, more }, colour, follow) {
  const link = (address, label, ...inside) => make("a", { href: address, "aria-label": label, onclick: (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    follow(address);
  } }, ...inside);
  if (field.type === "category") return rows.length ? [cells(field, rows, link), more ? make("p", { class: "quiet" }, `${count(more, "rarer value")} not shown.`) : ""] : none();
  const known = rows.filter(({ mean }) => mean && mean.value !== null);
  return known.length ? dots(rows, known, colour, link) : none();
}

const none = () => make("p", { class: "quiet" }, "None of these images has a value.");

function dots(rows, known, colour, link) {
  const ends = known.flatMap(({ mean }) => [mean.value, mean.low ?? mean.value, mean.high ?? mean.value]);
  const room = (Math.max(...ends) - Math.min(...ends)) / 20 || Math.abs(ends[0]) / 20 || 1;
  const [low, high] = [Math.min(...ends) - room, Math.max(...ends) + room];
  const at = (given) => `${(100 * (given - low)) / (high - low)}%`;
  const line = ({ system, mean, address }) => {
    const absent = !mean || mean.value === null;
    const track = make("span", { class: "track" });
    const sure = !absent && mean.low !== null;
    if (sure) track.append(placed("bar", { left: at(mean.low), right: `calc(100% - ${at(mean.high)})` }));
    if (!absent) track.append(placed("mark", { left: at(mean.value) }, { colour: colour(system) }));
    const said = absent ? "no value" : `mean ${figure(mean.value)}${sure ? `, interval ${figure(mean.low)} to ${figure(mean.high)}` : ""}, n ${count(mean.n)}`;
    return make("li", {}, link(address, `${system}: ${said}. Show these images`,
      make("bdi", { class: "name" }, system), track, make("b", {}, absent ? "–" : figure(mean.value)),
      make("span", { class: "interval" }, sure ? `[${figure(mean.low)}, ${figure(mean.high)}]` : ""), make("span", { class: "n" }, absent ? "" : `n ${count(mean.n)}`)));
  };
  return make("ul", { class: "dots" }, rows.map(line));
}

function placed(kind, style, data = {}) {
  const element = make("span", { class: kind, data });
  Object.assign(element.style, style);
  return element;
}

function cells(field, rows, link) {
  const systems = [...new Set(rows.map(({ system }) => system))];
  const columns = [...new Set(rows.map(({ value }) => value))].sort();
  const size = ({ n, mean }) => (mean && mean.value !== null ? mean.value : n);
  const sizes = rows.map(size);
  const [least, most] = [rows.some(({ mean }) => mean) ? Math.min(...sizes) : 0, Math.max(...sizes)];
  const shade = (row) => 1 + Math.floor((SHADES * (size(row) - least)) / (most - least || 1) - 1e-9);
  const of = new Map(rows.map((row) => [`${row.system}\n${row.value}`, row]));
  const one = (system, value) => {
    const row = of.get(`${system}\n${value}`);
    if (!row) return make("td", { class: "empty" }, "–");
    const mean = row.mean && row.mean.value !== null ? figure(row.mean.value) : "";
    return make("td", { data: { shade: Math.max(1, shade(row)) } }, link(row.address, `${system}, ${field.label} ${value}: ${mean ? `mean ${mean}, ` : ""}${count(row.n, "image")}. Show them`,
      mean ? [make("b", {}, mean), " ", make("span", { class: "n" }, `n ${count(row.n)}`)] : count(row.n)));
  };
  return make("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": `Images by ${field.label}` },
    make("table", { class: "cells-table" },
      make("thead", {}, make("tr", {}, make("td", {}), columns.map((value) => make("th", { scope: "col" }, make("bdi", {}, value))))),
      make("tbody", {}, systems.map((system) => make("tr", {}, make("th", { scope: "row" }, make("bdi", {}, system)), columns.map((value) => one(system, value)))))));
}
