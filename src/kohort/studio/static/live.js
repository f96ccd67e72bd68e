// Forms that change a page without a reload: the answer is a whole page, of which the parts that differ are put
// in place. Without JavaScript the same forms work by reloading.

const PARTS = ["live", "aside"];
let pressed = false; // whether a button of the mouse, or a finger, is down
const onTheWay = new Set(); // what is being sent, so that Enter does not send a form twice

// Calls a function now and after every change of the page.
export function whenShown(show) {
  document.addEventListener("shown", show);
  show();
}

// Shows the page that a response holds, and keeps focus and scrolling where they were.
export async function showPage(response) {
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  await released();
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
  await showPage(await fetch(location.href, { headers: { Accept: "text/html" } }));
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
  const main = document.getElementById("main");
  main.setAttribute("aria-busy", "true");
  try {
    await showPage(await fetch(form.action, { method: "POST", body: content }));
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
