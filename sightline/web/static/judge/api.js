// The server as judging needs it: patience ends, the clock is the server's, and what is sent names its task.

import { configure } from "../shared/api.js";

export { bytes, Denied, get, post, Unreachable } from "../shared/api.js";

const PATIENCE_MS = 20_000;

/** How far the server's clock is ahead of ours, in milliseconds: rests end by its clock. */
let ahead = 0;

configure({
  patience: PATIENCE_MS,
  heard: (reply) => {
    const date = Date.parse(reply.headers.get("Date") ?? "");
    if (!Number.isNaN(date)) ahead = date - Date.now();
  },
});

/** The server's time, in milliseconds. */
export const serverNow = () => Date.now() + ahead;

/** Name the task this page is for. Another link opened in the same browser takes its cookie over; what is sent
 *  for this task must then wait, not go to the other. */
export function meant(key) {
  configure({ headers: { "X-Task": key } });
}
