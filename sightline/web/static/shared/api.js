// Asking the server. Whatever fails comes as a Problem with words for people: Unreachable where trying again may
// help, Denied where the server understood and says no.

export class Problem extends Error {
  constructor(error, remedy = "", status = 0) {
    super(error);
    this.remedy = remedy;
    this.status = status;
  }

  /** What is wrong and what to do about it, in whole sentences. */
  get said() {
    const what = this.message.replace(/[.\s]*$/, ".");
    // The name of a file at the beginning stays as it is.
    const sentence = /^[a-z]+[ ,]/.test(what) ? what.charAt(0).toUpperCase() + what.slice(1) : what;
    return [sentence, this.remedy].filter(Boolean).join(" ");
  }
}

/** No answer, or one that says the server is not able to answer now. */
export class Unreachable extends Problem {}

/** The server understood and says no. */
export class Denied extends Problem {}

/** Any failure in words. */
export const words = (problem) => (problem instanceof Problem ? problem.said : String(problem));

const LATER = [408, 429];
let patience = 0;
let extra = {};
let heard = () => {};

/** For all that is asked from here on: milliseconds after which to give up (0: never), headers to send, and who
 *  hears of every reply. */
export function configure(how) {
  patience = how.patience ?? patience;
  extra = how.headers ?? extra;
  heard = how.heard ?? heard;
}

/** The JSON at an address; values that are empty are left out of it. `signal` ends it. */
export function get(path, values = {}, signal = undefined) {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value));
  return ask(query.size ? `${path}?${query}` : path, "", undefined, signal).then(json);
}

/** The JSON that answers what was sent. */
export const post = (path, body) => send(path, body).then(json);

/** The reply to what was sent, whatever it holds. */
export const send = (path, body) => ask(path, "application/json", JSON.stringify(body));

/** The JSON that answers a CSV file. */
export const upload = (path, file) => ask(`${path}?${new URLSearchParams({ name: file.name })}`, "text/csv", file).then(json);

/** The JSON that answers the bytes of a file; values that are empty are left out of the address. */
export function put(path, values, file) {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== ""));
  return ask(`${path}?${query}`, "application/octet-stream", file).then(json);
}

/** The bytes at an address. */
export const bytes = (path) => ask(path).then((reply) => reply.blob());

async function json(reply) {
  try {
    return await reply.json();
  } catch {
    // A proxy's page, or a connection cut half-way.
    throw new Unreachable("The answer was cut off", "Try again.");
  }
}

async function ask(path, type = "", body = undefined, ends = undefined) {
  const headers = { ...extra, ...(type && { "Content-Type": type, "X-Sightline": "1" }) };
  const signal = patience ? AbortSignal.timeout(patience) : ends;
  let reply;
  try {
    reply = await fetch(path, { method: type ? "POST" : "GET", headers, body, signal, credentials: "same-origin" });
  } catch {
    throw new Unreachable("The server does not answer", "Try again.");
  }
  heard(reply);
  if (reply.ok) return reply;
  // A proxy may answer with a page of its own, which is no answer of ours.
  const fault = await reply.json().catch(() => null);
  const Kind = fault === null || reply.status >= 500 || LATER.includes(reply.status) ? Unreachable : Denied;
  throw new Kind(fault?.error || `The server answered ${reply.status}`, fault?.remedy, reply.status);
}
