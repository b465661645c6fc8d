// Asking before what cannot be undone by a click, and showing a link once.

import { $, day } from "./elements.js";

export function sure({ title, text, yes, reason = false, danger = true }) {
  const dialog = $("ask");
  $("ask-title").textContent = title;
  $("ask-text").textContent = text;
  $("ask-yes").textContent = yes;
  $("ask-yes").classList.toggle("danger", danger);
  $("ask-reason-part").hidden = !reason;
  $("ask-reason").required = reason;
  $("ask-reason").value = "";
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener(
      "close",
      () => resolve(dialog.returnValue === "yes" ? { reason: $("ask-reason").value.trim() } : null),
      { once: true },
    );
  });
}

export function showLink(name, { link, expires }) {
  $("link-title").textContent = `Link for ${name}`;
  $("link-text").value = link;
  $("link-until").textContent = `Good until ${day(expires)}.`;
  const copy = $("link-copy");
  copy.textContent = "Copy";
  copy.onclick = async () => {
    $("link-text").select();
    try {
      await navigator.clipboard.writeText(link);
    } catch {
      // Without https a page may not use the clipboard; the older way still works there.
      document.execCommand("copy");
    }
    copy.textContent = "Copied";
  };
  const dialog = $("link");
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      $("link-text").value = "";
      resolve();
    }, { once: true });
  });
}

export function enlarge(address) {
  $("large-image").src = address;
  $("large").showModal();
}
