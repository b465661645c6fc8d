// A link that is shown once.

import { closed, copy } from "../shared/dialogs.js";
import { day, the } from "../shared/elements.js";

export async function showLink(name, { link, expires }) {
  the("link-title").textContent = `Link for ${name}`;
  the("link-text").value = link;
  the("link-until").textContent = `Good until ${day(expires)}.`;
  const button = the("link-copy");
  button.textContent = "Copy";
  button.onclick = async () => {
    await copy(the("link-text"));
    button.textContent = "Copied";
  };
  await closed(the("link"));
  the("link-text").value = "";
}
