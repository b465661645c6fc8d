// Images of the simpler prompts that a prompt builds on, opened next to the page.

import { get } from "./api.js";
import { make, the } from "../shared/elements.js";

export class LinkedPrompts {
  constructor(pictures, enlarge) {
    this.pictures = pictures;
    this.enlarge = enlarge;
    the("linked-close").addEventListener("click", () => this.close());
  }

  get isOpen() {
    return !the("linked").hidden;
  }

  close() {
    the("linked").hidden = true;
    the("show-linked").setAttribute("aria-expanded", "false");
  }

  async open(page, slot) {
    the("linked-list").replaceChildren(make("p", { class: "quiet" }, "One moment …"));
    the("linked").hidden = false;
    the("show-linked").setAttribute("aria-expanded", "true");
    this.shown = page;
    try {
      const { prompts } = await get(`/api/linked/${page}/${slot}`);
      if (this.shown === page) this.fill(prompts);
    } catch (error) {
      the("linked-list").replaceChildren(make("p", { class: "quiet" }, `It does not load: ${error.message}.`));
    }
  }

  fill(prompts) {
    const parts = prompts.map(({ prompt, images }) => {
      const shown = images.map((address, at) => ({ address, name: `${prompt}, image ${at + 1}` }));
      return make(
        "section",
        {},
        make("h3", {}, prompt),
        make("div", { class: "row" }, ...shown.map((each, at) => this.picture(shown, each, at))),
      );
    });
    const none = make("p", { class: "quiet" }, "There are no images of simpler texts.");
    the("linked-list").replaceChildren(...(parts.length ? parts : [none]));
  }

  picture(all, { address, name }, at) {
    const image = make("img", { alt: name });
    this.pictures.load(address).then(
      (url) => {
        image.src = url;
      },
      () => image.replaceWith("does not load"),
    );
    return make(
      "button",
      { type: "button", class: "picture", "aria-label": `Enlarge ${name}`, onclick: () => this.enlarge(all, at) },
      image,
    );
  }
}
