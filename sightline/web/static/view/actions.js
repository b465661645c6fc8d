// What can be done with a selection: tag it, mark it as a failure, have it judged, export it.

import { post, send, words } from "../shared/api.js";
import { say } from "../shared/dialogs.js";
import { count, make, the } from "../shared/elements.js";
import { images } from "./words.js";

const FIRST_MODE = "two_sliders";

export class Actions {
  /** `page` gives the study, the fields, the number that match, and hears of every change. */
  constructor(selection, page) {
    Object.assign(this, { selection, page });
    for (const [id, act] of Object.entries({
      "act-tag": () => this.tag(),
      "act-untag": () => this.untag(),
      "act-fail": () => this.fail(),
      "act-round": () => this.round(),
      "act-export": () => this.export(),
      "act-all": () => page.selectAll(),
      "act-clear": () => selection.clear(),
    })) the(id).addEventListener("click", act);
  }

  /** Show the bar while something is selected. */
  show() {
    const n = this.selection.size;
    the("actions").hidden = n === 0;
    const { total } = this.page;
    the("selected").textContent = this.selection.everything ? `All ${images(n)} that match` : `${images(n)} selected`;
    const all = the("act-all");
    all.hidden = this.selection.everything !== null || total === null || n >= total;
    all.textContent = `Select all ${count(total ?? 0)} that match`;
  }

  tag() {
    this.ask({
      title: `Tag ${images(this.selection.size)}`,
      fields: [
        field("Tag", make("input", { name: "name", required: true, maxlength: 200, list: "tag-names", autocomplete: "off" })),
        field("Value", make("input", { name: "value", required: true, maxlength: 200, autocomplete: "off" })),
        this.names(),
      ],
      yes: "Tag",
      action: "tag",
    });
  }

  untag() {
    this.ask({
      title: `Remove a tag from ${images(this.selection.size)}`,
      fields: [field("Tag", make("input", { name: "name", required: true, maxlength: 200, list: "tag-names", autocomplete: "off" })), this.names()],
      yes: "Remove the tag",
      action: "untag",
    });
  }

  fail() {
    this.ask({
      title: `Mark ${images(this.selection.size)} as a failure`,
      text: "They get the tag “failure” with your reason, and can be filtered by it.",
      fields: [field("What is wrong?", make("input", { name: "value", required: true, maxlength: 200, autocomplete: "off", placeholder: "such as: wrong number of objects" }))],
      yes: "Mark as failure",
      action: "fail",
      also: { label: "Remove the mark", action: "unfail" },
    });
  }

  round() {
    const modes = this.page.study.modes.map((name) => make("option", { value: name, selected: name === FIRST_MODE }, name.replaceAll("_", " ")));
    this.ask({
      title: `Have ${images(this.selection.size)} judged`,
      text: "A round of judging of exactly these images is written into study.toml. Nobody is invited yet.",
      fields: [
        field("Name of the round", make("input", { name: "name", required: true, maxlength: 60, pattern: "[A-Za-z0-9_\\-]+", value: this.unused(), autocomplete: "off", title: "letters, digits, - and _" })),
        field("How it is judged", make("select", { name: "mode" }, modes)),
        field("Judgements per item", make("input", { name: "per_item", type: "number", min: 1, max: 1000, value: 3, required: true })),
      ],
      yes: "Make the round",
      action: "round",
    });
  }

  unused() {
    const taken = new Set(this.page.study.rounds);
    let number = 1;
    while (taken.has(`chosen-${number}`)) number += 1;
    return `chosen-${number}`;
  }

  export() {
    this.ask({
      title: `Export ${images(this.selection.size)}`,
      fields: [make("fieldset", {}, make("legend", { class: "hidden" }, "Format"),
        make("label", { class: "choice" }, make("input", { type: "radio", name: "format", value: "csv", checked: true }), make("span", {}, "Table (CSV): one row per image with its values")),
        make("label", { class: "choice" }, make("input", { type: "radio", name: "format", value: "zip" }), make("span", {}, "Images and table (ZIP)")))],
      yes: "Download",
      action: "export",
    });
  }

  names() {
    const tags = this.page.fields.filter(({ id }) => id.startsWith("tag:"));
    return make("datalist", { id: "tag-names" }, tags.map(({ id }) => make("option", { value: id.slice(4) })));
  }

  /** Ask for what an action needs, do it, and tell what came of it. */
  ask({ title, text = "", fields, yes, action, also = null }) {
    const failed = make("p", { class: "notice alarm", role: "alert", hidden: true });
    const dialog = the("act");
    const done = async (doing, values) => {
      failed.hidden = true;
      form.setAttribute("aria-busy", "true");
      for (const button of form.querySelectorAll("button")) button.disabled = true;
      try {
        await this.send(doing, values);
        if (doing !== "round") dialog.close();
      } catch (problem) {
        failed.textContent = words(problem);
        failed.hidden = false;
      } finally {
        form.removeAttribute("aria-busy");
        for (const button of form.querySelectorAll("button")) button.disabled = false;
      }
    };
    const form = make("form", {},
      make("h2", { id: "act-title" }, title), text ? make("p", { class: "quiet" }, text) : "", ...fields, failed,
      make("div", { class: "buttons" },
        make("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Cancel"),
        also ? make("button", { type: "button", class: "plain", onclick: () => done(also.action, {}) }, also.label) : "",
        make("button", { class: "primary" }, yes)));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      done(action, Object.fromEntries(new FormData(form)));
    });
    dialog.replaceChildren(form);
    dialog.showModal();
  }

  async send(action, values) {
    const target = { ...this.selection.target };
    if (action === "export") {
      // A selection is sent; all that match is a link, so that the browser writes it to the disk as it comes.
      if (target.keys) await save({ ...target, ...values });
      else follow(`/api/view/export?${[target.state, new URLSearchParams(values)].filter(String).join("&")}`);
      say(`Exported ${images(this.selection.size)}.`);
      return;
    }
    if (values.per_item) values.per_item = Number(values.per_item);
    const answer = await post("/api/view/act", { action, ...target, ...values });
    if (action === "round") this.showCommand(answer);
    say(answer.message);
    this.page.changed();
  }

  /** A round was made: the command that serves it, to copy. */
  showCommand({ message, command }) {
    const dialog = the("act");
    const copy = make("button", { type: "button", class: "primary" }, "Copy the command");
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(command);
        copy.textContent = "Copied";
      } catch {
        // The browser does not allow it here: then it is selected, and Ctrl+C copies it.
        getSelection().selectAllChildren(the("command"));
      }
    });
    dialog.replaceChildren(make("form", { method: "dialog" },
      make("h2", { id: "act-title" }, "The round is ready"), make("p", {}, message), make("p", {}, "This opens it for judging:"), make("pre", { tabindex: "0" }, make("code", { id: "command" }, command)),
      make("div", { class: "buttons" }, make("button", { class: "plain" }, "Close"), copy)));
    copy.focus();
  }
}

/** A file that the server makes of a selection, saved under the name that it gives. */
async function save(body) {
  const reply = await send("/api/view/export", body);
  const name = /filename="?([^";]+)/.exec(reply.headers.get("Content-Disposition") ?? "")?.[1] ?? `export.${body.format}`;
  const address = URL.createObjectURL(await reply.blob());
  make("a", { href: address, download: name }).click();
  URL.revokeObjectURL(address);
}

const follow = (address) => make("a", { href: address, download: "" }).click();
const field = (label, input) => make("label", {}, label, input);
