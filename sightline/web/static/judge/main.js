// The page begins here: ask what is to be judged and by whom, send what is left from last time, then judge.

import { Denied, get, meant } from "./api.js";
import { count, the } from "../shared/elements.js";
import { Kept } from "./kept.js";
import { listen } from "./keyboard.js";
import { Queue } from "./queue.js";
import { Session } from "./session.js";

const AGAIN_MS = 3_000;

async function begin() {
  let task, work;
  try {
    [task, work] = await Promise.all([get("/api/task"), get("/api/work")]);
  } catch (error) {
    const why = error instanceof Denied ? `${error.message} ${error.remedy}` : "No connection. Trying again …";
    the("opening").textContent = why;
    if (!(error instanceof Denied)) setTimeout(begin, AGAIN_MS);
    return;
  }
  meant(task.task);
  const kept = new Kept(`sightline/${task.task}/`);
  const queue = new Queue(kept);
  const session = new Session(task, work, kept, queue);
  the("opening").hidden = true;
  the("judge").hidden = false;
  listen(session);
  const waited = queue.waiting().length;
  const isSent = () => queue.waiting().length === 0;
  if (waited) session.message.say(`${count(waited, "answer", "answers")} of last time: being sent now.`, isSent);
  queue.hurry();
  await session.proceed();
  if (kept.get("read") !== task.instructions) {
    await session.instruct(true);
    kept.put("read", task.instructions);
  }
}

begin();
