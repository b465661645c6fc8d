// Which key does what.

import { make, the } from "../shared/elements.js";

const KEYS = [
  ["← → ↑ ↓", "move in the grid; Page Up, Page Down, Home and End too"],
  ["Enter", "open the image"],
  ["Escape", "close what is open, then clear the selection"],
  ["x", "select or deselect (also Space in the grid)"],
  ["Shift + arrows", "select a range (also Shift + click)"],
  ["Ctrl + a", "select all that match"],
  ["/", "search prompts"],
  ["f", "go to the filters"],
  ["g  p  h", "grid, prompts side by side, head to head"],
  ["[  ]", "previous and next image, when one is open"],
  ["z", "true size, or fit (0 fit, 1 true size, + and − zoom, arrows move)"],
  ["b", "draw the boxes of measures"],
  ["v", "show verdicts with their boxes in the grid"],
  ["c", "correct the verdict: yes becomes no, no becomes yes, as your judgement"],
  ["s", "all systems side by side, when an image is open"],
  ["n", "show or hide the names of annotators"],
  ["?", "these keys"],
];

export function listKeys() {
  the("keys-list").replaceChildren(...KEYS.map(([keys, does]) =>
    make("div", {}, make("dt", {}, keys.split("  ").map((key) => make("kbd", {}, key))), make("dd", {}, does))));
}

const isTyping = (target) => target.matches("textarea, select, input:not([type=checkbox], [type=radio], [type=range])");

export function listen(page) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey) return;
    if (act(page, event)) event.preventDefault();
  });
}

function act(page, event) {
  const { key, target } = event;
  const dialog = [...document.querySelectorAll("dialog[open]")].at(-1) ?? null;
  if (dialog && dialog.id !== "detail") return false;
  if (isTyping(target)) return key === "Escape" && target === the("search") ? leave(page) : false;
  const held = event.ctrlKey || event.metaKey;
  if (key === "?" && !held) {
    the("keys").showModal();
    return true;
  }
  if (dialog) return !held && target.type !== "range" && page.detail.key(event);
  const inBoard = the("board").contains(target) || target === document.body;
  if (held && key.toLowerCase() === "a" && inBoard) {
    page.selectAll();
    return true;
  }
  if (inBoard && page.board.key(event)) return true;
  return !held && plain(page, event, inBoard);
}

function plain(page, event, inBoard) {
  const cell = event.target.closest(".cell");
  const acts = {
    "/": () => the("search").select(),
    f: () => page.openFilters(),
    g: () => page.toolbar.layout("grid"),
    p: () => page.toolbar.layout("prompts"),
    h: () => { if (page.study.systems.length > 1) page.toolbar.layout("pair"); },
    v: () => page.toggleVerdicts(),
    Escape: () => page.escape(),
  };
  if (inBoard && !event.target.closest("a, button, select, summary")) {
    // Before anything was focused the first image is meant.
    const { current } = page.board;
    acts.x = () => page.selection.toggle(current);
    acts.c = () => page.correct(page.board.rowOf(current.item, current.part));
    acts.Enter = () => {
      const row = page.board.rowOf(current.item, current.part);
      if (row) page.open(row);
    };
    if (cell) acts[" "] = acts.x;
  }
  acts[event.key]?.();
  return event.key in acts;
}

function leave(page) {
  page.board.focus();
  return true;
}
