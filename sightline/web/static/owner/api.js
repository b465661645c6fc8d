// Asking the server. Whatever fails comes as a Problem with words for people.

export class Problem extends Error {
  constructor(error, remedy = "", status = 0) {
    super(error);
    this.remedy = remedy;
    this.status = status;
  }

  get said() {
    return [this.message.replace(/[.\s]*$/, "."), this.remedy].filter(Boolean).join(" ");
  }
}

async function ask(path, options = {}) {
  let reply;
  try {
    reply = await fetch(path, { credentials: "same-origin", ...options });
  } catch {
    throw new Problem("The server does not answer", "Trying again.");
  }
  if (reply.ok) return reply.json();
  let fault = {};
  try {
    fault = await reply.json();
  } catch {
    // A proxy may answer with a page of its own.
  }
  throw new Problem(fault.error || `The server answered ${reply.status}`, fault.remedy, reply.status);
}

export function get(path, values = {}) {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value));
  return ask(query.size ? `${path}?${query}` : path);
}

export function post(path, body) {
  const headers = { "Content-Type": "application/json", "X-Sightline": "1" };
  return ask(path, { method: "POST", headers, body: JSON.stringify(body) });
}

export function upload(path, file) {
  const headers = { "Content-Type": "text/csv", "X-Sightline": "1" };
  return ask(`${path}?${new URLSearchParams({ name: file.name })}`, { method: "POST", headers, body: file });
}
