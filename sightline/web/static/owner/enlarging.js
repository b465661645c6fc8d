// The owner's page has one enlarged image, whichever part of it opens it.

import { Zoom } from "../shared/zoom.js";

let zoom = null;

/** Show one of these images over the whole window: [{ address, name, boxes }]. */
export function enlarge(images, place = 0) {
  zoom ??= new Zoom();
  zoom.open(images, place);
}
