// The line at the top: how far one is, how long it took, and whether all answers have arrived.

import { count, make, the } from "../shared/elements.js";

export class Header {
  constructor(task) {
    this.task = task;
    // The question stands above the images already, and a round's own name may tell more than it should.
    const asked = task.questions.some((question) => question.wording === task.title);
    the("title").textContent = asked ? "Sightline" : task.title;
    document.title = task.title;
    this.languages();
  }

  languages() {
    const { languages } = this.task;
    the("language-part").hidden = languages.length === 0;
    const names = new Intl.DisplayNames([...navigator.languages, "en"], { type: "language" });
    const called = (code) => {
      try {
        return names.of(code);
      } catch {
        return code;
      }
    };
    the("language").replaceChildren(
      make("option", { value: "" }, "as written"),
      ...languages.map((code) => make("option", { value: code }, called(code))),
    );
  }

  progress(progress, done) {
    const session = Math.min(progress.session_done + done, progress.session_pages);
    const all = progress.pages_done + progress.pages_left;
    the("bar").max = Math.max(1, progress.session_pages);
    the("bar").value = session;
    the("session").textContent = `${session} of ${count(progress.session_pages, "task")}`;
    the("all").textContent = `${Math.min(progress.pages_done + done, all)} of up to ${all} in all`;
  }

  time(seconds) {
    const minutes = Math.floor(seconds / 60);
    const hours = Math.floor(minutes / 60);
    the("time").textContent = hours ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
  }

  /** Whether every answer has arrived. Says nothing while answers are simply on their way. */
  keeping(queue, overdue) {
    const waiting = queue.waiting().length;
    const aside = queue.aside().length;
    const shown = the("keeping");
    const notices = [];
    if (queue.shutOut) notices.push(`${queue.shutOut.message} ${queue.shutOut.remedy}`.trim());
    else if (!queue.reached) notices.push("No connection.");
    if (waiting && (overdue || notices.length)) notices.push(`Answers are kept here: ${waiting} waiting.`);
    if (waiting && !queue.kept.lasting) notices.push("This browser keeps nothing: leave the window open.");
    if (shown.textContent !== notices.join(" ")) shown.textContent = notices.join(" ");
    shown.hidden = notices.length === 0;
    the("aside").hidden = aside === 0;
    the("aside").textContent = `${count(aside, "answer was", "answers were")} not accepted`;
  }
}
