// What a page gains where scripts run: pictures open large, tables sort and search, the contents follow.
(() => {
  "use strict";

  const make = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  let numbered = 0;

  // Tables: a heading sorts by its column, first one way, then the other, then as it was.
  const value = (row, column) => {
    const cell = row.cells[column];
    return "sort" in cell.dataset ? (cell.dataset.sort === "" ? null : Number(cell.dataset.sort)) : cell.textContent.trim();
  };
  const compared = (first, second) =>
    typeof first === "number" && typeof second === "number"
      ? first - second
      : String(first).localeCompare(String(second), "en", { numeric: true });

  const sort = (body, given, column, order) => {
    const rows = order === "none" ? given : [...given].sort((one, other) => {
      const [first, second] = [value(one, column), value(other, column)];
      // What is missing comes last, whichever way.
      if (first === null || second === null) return (first === null) - (second === null);
      return order === "ascending" ? compared(first, second) : compared(second, first);
    });
    body.append(...rows);
  };

  const sortable = (table) => {
    const body = table.tBodies[0];
    const given = [...body.rows];
    const headings = [...table.tHead.rows[0].cells];
    const apply = (column, order) => {
      headings.forEach((heading) => heading.removeAttribute("aria-sort"));
      if (order !== "none") headings[column].setAttribute("aria-sort", order);
      sort(body, given, column, order);
    };
    headings.forEach((heading, column) => {
      if (!heading.textContent.trim()) return;
      const button = make("button", { type: "button", class: "sort" });
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const first = heading.classList.contains("number") ? "descending" : "ascending";
        const second = first === "descending" ? "ascending" : "descending";
        const now = heading.getAttribute("aria-sort");
        apply(column, now === first ? second : now === second ? "none" : first);
      });
    });
    return { given, headings, apply };
  };

  // Search: what does not hold the words is hidden, and how many are left is said.
  const searchable = (label, things, before) => {
    const id = `search-${++numbered}`;
    const input = make("input", { type: "search", id, autocomplete: "off" });
    const left = make("output", { for: id });
    const tools = make("div", { class: "tools" }, make("label", { for: id }, label), input, left);
    const texts = things.map((thing) => thing.textContent.toLowerCase());
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      things.forEach((thing, number) => {
        thing.hidden = !words.every((word) => texts[number].includes(word));
        shown += !thing.hidden;
      });
      left.textContent = words.length ? `${shown} of ${things.length}` : "";
    });
    before.before(tools);
    return tools;
  };

  for (const table of document.querySelectorAll("main table:not(.matrix)")) {
    if (!table.tHead || table.tBodies[0].rows.length < 3) continue;
    const { given, headings, apply } = sortable(table);
    const around = table.closest(".table-scroll");
    if (given.length <= 10 || !around) continue;
    const tools = searchable("Search", given, around);
    // On a phone a row is a list and has no headings to press.
    const id = `order-${numbered}`;
    const select = make("select", { id }, make("option", { value: "" }, "as given"));
    headings.forEach((heading, column) => {
      const words = heading.querySelector(".sort")?.firstChild?.textContent.trim();
      const orders = heading.classList.contains("number") ? ["descending", "ascending"] : ["ascending"];
      for (const order of words ? orders : []) {
        const said = orders.length > 1 ? `${words}, ${order === "descending" ? "largest" : "smallest"} first` : words;
        select.append(make("option", { value: `${column} ${order}` }, said));
      }
    });
    select.addEventListener("change", () => {
      const [column, order] = select.value.split(" ");
      apply(Number(column), order || "none");
    });
    tools.append(make("span", { class: "order" }, make("label", { for: id }, "Sort by"), select));
  }
  for (const gallery of document.querySelectorAll(".gallery")) {
    const prompts = [...gallery.querySelectorAll(":scope > details")];
    if (prompts.length > 10) searchable("Search the prompts", prompts, gallery);
  }

  // Pictures: each is a button that opens it; arrows go through those it stands among.
  const dialog = make("dialog", { class: "large", "aria-label": "Picture" });
  const shown = make("img", { alt: "" });
  const caption = make("figcaption");
  const button = (label, sign) => make("button", { type: "button", "aria-label": label, title: label }, sign);
  const [back, on, close] = [button("Previous picture", "\u2190"), button("Next picture", "\u2192"), button("Close", "\u00d7")];
  dialog.append(make("figure", {}, shown, caption), make("div", { class: "moves" }, back, on, close));
  let among = [];
  let at = 0;
  const show = (number) => {
    at = (number + among.length) % among.length;
    const image = among[at];
    shown.src = image.src;
    shown.alt = image.alt;
    // Small ones at twice their size at most: more would show the pixels, not the picture.
    shown.style.setProperty("--most", `${2 * image.naturalWidth}px`);
    shown.style.setProperty("--shape", String(image.naturalWidth / image.naturalHeight || 1));
    const said = image.closest("figure")?.querySelector("figcaption")?.innerText.replace(/\s+/g, " ").trim();
    const place = among.length > 1 ? `${at + 1} of ${among.length}` : "";
    caption.textContent = [said, place, image.alt].filter(Boolean).join(" \u00b7 ");
    back.hidden = on.hidden = among.length < 2;
  };
  const open = (image) => {
    const group = image.closest(".pictures, .map, .three") || image.parentElement;
    among = [...group.querySelectorAll("img")];
    show(among.indexOf(image));
    if (!dialog.isConnected) document.body.append(dialog);
    dialog.showModal();
  };
  back.addEventListener("click", () => show(at - 1));
  on.addEventListener("click", () => show(at + 1));
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft") show(at - 1);
    if (event.key === "ArrowRight") show(at + 1);
  });
  for (const image of document.querySelectorAll("main img")) {
    const opener = make("button", { type: "button", class: "open", "aria-label": `Open large: ${image.alt}` });
    image.replaceWith(opener);
    opener.append(image);
    opener.addEventListener("click", () => open(image));
  }

  // Contents: the section that is being read is marked, and kept in view where the list scrolls.
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const sections = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
  const list = document.querySelector("nav ul");
  const mark = () => {
    const line = window.innerHeight / 3;
    const passed = sections.filter((section) => section.getBoundingClientRect().top <= line);
    const end = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 2;
    const current = end ? sections.at(-1) : passed.at(-1);
    for (const [id, link] of links) {
      if (id !== current?.id) link.removeAttribute("aria-current");
      else if (!link.hasAttribute("aria-current")) {
        link.setAttribute("aria-current", "location");
        const middle = link.offsetLeft + link.offsetWidth / 2 - list.clientWidth / 2;
        if (list.scrollWidth > list.clientWidth) list.scrollTo({ left: middle });
      }
    }
  };
  if (sections.length) {
    let waiting = false;
    window.addEventListener("scroll", () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; mark(); });
    }, { passive: true });
    mark();
  }
})();
