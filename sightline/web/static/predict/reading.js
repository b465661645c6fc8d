// Prompts from what was typed, and from files.

import { Problem } from "../shared/api.js";
import { count } from "../shared/elements.js";

const LARGEST = 2 * 1024 * 1024;
const COLUMNS = ["prompt", "text", "caption", "query"];
const GUARDED = /^'(?=[=+\-@\t\r\n＝＋－＠])/;

export function lines(text) {
  return text.split(/\r\n|[\n\r\u2028\u2029]/).map((line) => line.trim()).filter(Boolean);
}

export async function promptsOf(file) {
  if (file.size > LARGEST) {
    throw new Problem(`${file.name} is larger than ${count(LARGEST / 1024 / 1024)} MB`, "Give it to sightline predict --file.");
  }
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Problem(`${file.name} is not text in UTF-8`, "Save it as UTF-8, and drop it again.");
  }
  const found = /\.csv$/i.test(file.name) ? column(rows(text), file.name) : lines(text);
  if (!found.length) throw new Problem(`${file.name} holds no prompts`, "One prompt a line, or a column named prompt.");
  return found;
}

function column(table, name) {
  const heads = (table[0] ?? []).map((head) => head.trim().toLowerCase());
  const known = COLUMNS.find((head) => heads.includes(head));
  if (!known && heads.length > 1) throw new Problem(`${name} has no column named prompt`, `Its columns are ${heads.slice(0, 12).join(", ")}.`);
  const place = known ? heads.indexOf(known) : 0;
  const cells = table.slice(known ? 1 : 0).map((row) => row[place] ?? "");
  // A prompt is a line on this page. The apostrophe keeps a spreadsheet from running what our own tables hold.
  return cells.map((cell) => cell.replace(GUARDED, "").replace(/\s+/g, " ").trim()).filter(Boolean);
}

// The cells of a table with quotes; whichever of comma, semicolon and tab its first line has most of parts them.
function rows(text) {
  const first = text.split(/[\r\n]/, 1)[0];
  const often = (sign) => first.split(sign).length;
  const sign = [",", ";", "\t"].reduce((best, next) => (often(next) > often(best) ? next : best));
  const made = [];
  let row = [], cell = "", quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const here = text[at];
    if (quoted) {
      if (here !== '"') cell += here;
      else if (text[at + 1] === '"') { cell += here; at += 1; }
      else quoted = false;
    } else if (here === '"' && !cell) quoted = true;
    else if (here === sign) { row.push(cell); cell = ""; }
    else if (here === "\n" || here === "\r") {
      if (here === "\r" && text[at + 1] === "\n") at += 1;
      made.push([...row, cell]);
      row = []; cell = "";
    } else cell += here;
  }
  if (cell || row.length) made.push([...row, cell]);
  return made;
}
