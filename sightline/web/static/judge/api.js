// Talking to the server: every failure is either "not reachable now, try again" or "the server says no".

const PATIENCE_MS = 20_000;

/** How far the server's clock is ahead of ours, in milliseconds: rests end by its clock. */
let ahead = 0;

/** The task this page is for. Another link opened in the same browser takes its cookie over; what is sent for
 *  this task must then wait, not go to the other. */
let task = null;

export function meant(key) {
  task = key;
}

/** The server's time, in milliseconds. */
export const serverNow = () => Date.now() + ahead;

/** No answer, or one that says the server is not able to answer now. */
export class Unreachable extends Error {}

/** The server understood and says no. */
export class Denied extends Error {
  constructor(status, error, remedy) {
    super(error);
    this.status = status;
    this.remedy = remedy;
  }
}

/** The JSON at an address. */
export const get = (path) => ask(path, { method: "GET" });

/** The JSON that answers what was sent. */
export const post = (path, body) =>
  ask(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Sightline": "1" },
    body: JSON.stringify(body),
  });

/** The bytes at an address. */
export async function bytes(path) {
  const answer = await reach(path, {});
  if (!answer.ok) throw new Denied(answer.status, "the image does not load", "");
  return answer.blob();
}

async function ask(path, how) {
  const answer = await reach(path, how);
  let reply;
  try {
    reply = await answer.json();
  } catch {
    // A proxy's error page, or a connection cut half-way.
    throw new Unreachable("the answer was cut off");
  }
  if (!answer.ok) throw new Denied(answer.status, reply.error ?? "The server refused this.", reply.remedy ?? "");
  return reply;
}

async function reach(path, how) {
  const control = new AbortController();
  const watch = setTimeout(() => control.abort(), PATIENCE_MS);
  let answer;
  try {
    const headers = { ...how.headers, ...(task === null ? {} : { "X-Task": task }) };
    answer = await fetch(path, { ...how, headers, credentials: "same-origin", signal: control.signal });
  } catch {
    throw new Unreachable("the server cannot be reached");
  } finally {
    clearTimeout(watch);
  }
  const date = Date.parse(answer.headers.get("Date") ?? "");
  if (!Number.isNaN(date)) ahead = date - Date.now();
  if (answer.status >= 500 || [408, 429].includes(answer.status)) throw new Unreachable("the server is busy");
  return answer;
}
