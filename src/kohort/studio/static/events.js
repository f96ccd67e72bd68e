// What happens in the session, as server-sent events: each becomes an event of the document.
import { refresh } from "./live.js";

const PAGES = ["data", "people", "promise", "run", "judge"];

export function listen() {
  const { session, page } = document.body.dataset;
  if (!session || !PAGES.includes(page)) return;
  const source = new EventSource(`/s/${session}/events`);
  source.onmessage = (message) => {
    const facts = JSON.parse(message.data);
    document.dispatchEvent(new CustomEvent(`studio:${facts.type}`, { detail: facts }));
  };
  source.onopen = () => { // what was opened before this stream was there is not told any more
    if (document.getElementById("opening")) refresh();
  };
  addEventListener("pagehide", () => source.close());
  document.addEventListener("studio:opening", (event) => showOpening(event.detail));
  document.addEventListener("studio:judging", (event) => showProgress("judging", event.detail));
  for (const ended of ["opened", "judged"]) document.addEventListener(`studio:${ended}`, refresh);
}

function showOpening(facts) {
  if (document.getElementById("opening")) showProgress("opening", facts);
  else if (document.body.dataset.page === "data") refresh();
}

function showProgress(name, facts) {
  const part = document.getElementById(name);
  if (!part) return;
  part.querySelector("progress").value = facts.share;
  document.getElementById(`${name}-what`).textContent = facts.what;
}
