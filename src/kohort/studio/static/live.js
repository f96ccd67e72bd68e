// Forms that change a page without a reload: the answer is a whole page, of which the parts that differ are put
// in place. Without JavaScript the same forms work by reloading.

const PARTS = ["live", "aside"];
let pressed = false; // whether a button of the mouse, or a finger, is down
let asked = 0; // how many pages were asked for so far
let newest = 0; // the number of the page that is shown
const touched = new Map(); // fields that somebody filled in and did not send yet: how many pages were asked for then
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
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  await released();
  if (number < newest) {
    const message = page.getElementById("message");
    if (message?.firstElementChild) document.getElementById("message").replaceWith(document.adoptNode(message));
    return;
  }
  newest = number;
  show(page, response, unsent(options.method === "POST" ? number : 0));
}

// The fields that were filled in since a page was asked for: its answer knows nothing of them.
function unsent(since) {
  const kept = [...touched].filter(([, when]) => when >= since).map(([id]) => document.getElementById(id));
  touched.clear();
  return kept.filter((field) => field?.form);
}

// Puts the parts of a page in place, and keeps focus and scrolling where they were.
function show(page, response, kept) {
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
  if (response.url && response.url !== location.href) history.replaceState(null, "", response.url);
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

async function send(form, submitter) {
  const content = new URLSearchParams(new FormData(form, submitter));
  const key = `${form.action} ${content}`;
  if (onTheWay.has(key)) return;
  onTheWay.add(key);
  for (const field of form.elements) touched.delete(field.id);
  const main = document.getElementById("main");
  main.setAttribute("aria-busy", "true");
  try {
    await showPage(form.action, { method: "POST", body: content });
  } catch {
    say("The studio does not answer. Is it still running?");
  } finally {
    onTheWay.delete(key);
    main.removeAttribute("aria-busy");
  }
}

export function liveForms() {
  document.addEventListener("pointerdown", () => { pressed = true; }, true);
  for (const kind of ["pointerup", "pointercancel", "dragend"]) {
    document.addEventListener(kind, () => { setTimeout(() => { pressed = false; }); }, true);
  }
  document.addEventListener("input", (event) => { if (event.target.id) touched.set(event.target.id, asked); });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form[data-live]")) return;
    event.preventDefault();
    send(form, event.submitter);
  });
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-on-change]");
    if (form) form.requestSubmit();
  });
}
