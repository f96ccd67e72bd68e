// Forms that change a page without a reload: the answer is a whole page, of which the parts that differ are put
// in place. Without JavaScript the same forms work by reloading.

const PARTS = ["live", "aside"];
let pressed = false; // whether a button of the mouse, or a finger, is down
let asked = 0; // how many pages were asked for so far
let newest = 0; // the number of the page that is shown
const touched = new Map(); // fields that somebody filled in and did not send yet: how many pages were asked for then
let last = Promise.resolve(); // ends when all that was sent is answered
const onTheWay = new Set(); // what is being sent, so that Enter does not send a form twice

// Calls a function now and after every change of the page.
export function whenShown(show) {
  document.addEventListener("shown", show);
  show();
}

// Asks for a page and shows it. One that was asked for before the page that is shown comes too late: it would
// show an old state, such as that of a file which is still being opened; only its message is kept.
export async function showPage(address, options = {}) {
  asked += 1;
  const number = asked;
  const response = await fetch(address, options);
  await showText(await response.text(), response.url, number, options.method === "POST" ? number : 0);
}

// For a page that somebody else asks for now, such as the answer to an upload: what shows it once it is there.
export function answerShown() {
  asked += 1;
  const number = asked;
  return (text, url) => showText(text, url, number, number);
}

async function showText(text, url, number, since) {
  const page = new DOMParser().parseFromString(text, "text/html");
  await released();
  if (number < newest) {
    const message = page.getElementById("message");
    if (message?.firstElementChild) document.getElementById("message").replaceWith(document.adoptNode(message));
    return;
  }
  newest = number;
  show(page, url, unsent(since));
}

// The fields that were filled in since a page was asked for: its answer knows nothing of them.
function unsent(since) {
  const kept = [...touched].filter(([, when]) => when >= since).map(([id]) => document.getElementById(id));
  touched.clear();
  return kept.filter((field) => field?.form);
}

// Puts the parts of a page in place, and keeps focus and scrolling where they were.
function show(page, url, kept) {
  if (!page.getElementById("live")) {
    location.reload();
    return;
  }
  const focused = document.activeElement?.id;
  const spec = document.querySelector("aside details")?.open;
  for (const part of PARTS) {
    const here = document.getElementById(part);
    const there = page.getElementById(part);
    if (here && there) here.replaceWith(document.adoptNode(there));
  }
  for (const field of kept) {
    document.getElementById(field.id)?.replaceWith(field);
    touched.set(field.id, asked);
  }
  const details = document.querySelector("aside details");
  if (details && spec === false) details.open = false;
  document.title = page.title;
  if (url && url !== location.href) history.replaceState(null, "", url);
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  document.dispatchEvent(new Event("shown"));
}

// Waits until nothing is pressed: a click on a part that is just replaced would be lost.
async function released() {
  while (pressed) await new Promise((go) => { setTimeout(go, 20); });
}

// Loads the page again, without losing focus.
export async function refresh() {
  await showPage(location.href, { headers: { Accept: "text/html" } });
}

// Says something in the line for messages.
export function say(text, kind = "error") {
  const line = document.createElement("p");
  line.className = `message ${kind}`;
  line.textContent = text;
  document.getElementById("message").replaceChildren(line);
}

// Sends a form. One after the other: each tells the version of the choices that the answer to the one before showed.
function send(form, submitter) {
  const content = new URLSearchParams(new FormData(form, submitter));
  content.delete("version");
  const key = `${form.action} ${content}`;
  if (onTheWay.has(key)) return last;
  onTheWay.add(key);
  for (const field of form.elements) touched.delete(field.id);
  last = last.then(() => post(form.action, content, key));
  return last;
}

async function post(address, content, key) {
  const main = document.getElementById("main");
  main.setAttribute("aria-busy", "true");
  content.set("version", document.getElementById("live").dataset.version);
  try {
    await showPage(address, { method: "POST", body: content });
  } catch {
    say("The studio does not answer. Is it still running?");
  } finally {
    onTheWay.delete(key);
    main.removeAttribute("aria-busy");
  }
}

// The forms whose fields were filled in and not sent: what is typed counts, without a press of their buttons.
// Not those that open a table or write files, which one does by a button only.
function filledIn(other) {
  const fields = [...touched.keys()].map((id) => document.getElementById(id));
  const forms = new Set(fields.map((field) => field?.closest("form[data-live]:not([data-by-button])")));
  return [...forms].filter((form) => form && form !== other);
}

// Goes to another page once what was typed is sent; stays where that is refused, with the reason.
async function leave(address) {
  for (const form of filledIn()) send(form);
  await last;
  if (!document.querySelector("#message .error")) location.assign(address);
}

export function liveForms() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (!link || link.download || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (link.origin !== location.origin || link.hash || !(filledIn().length || onTheWay.size)) return;
    event.preventDefault();
    leave(link.href);
  });
  document.addEventListener("pointerdown", () => { pressed = true; }, true);
  for (const kind of ["pointerup", "pointercancel", "dragend"]) {
    document.addEventListener(kind, () => { setTimeout(() => { pressed = false; }); }, true);
  }
  document.addEventListener("input", (event) => { if (event.target.id) touched.set(event.target.id, asked); });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form[data-live]")) return;
    event.preventDefault();
    for (const other of filledIn(form)) send(other);
    send(form, event.submitter);
  });
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-on-change]");
    if (form) form.requestSubmit();
  });
}
