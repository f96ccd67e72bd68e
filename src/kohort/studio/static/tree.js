// The editor of trees. Drag a node onto a group, use the keyboard, or select nodes and press a button: all of
// them send the same edit to the server, which answers with the new tree.
import { refresh, say, whenShown } from "./live.js";

let selected = new Set();
let taken = [];

const editor = () => document.getElementById("tree-editor");
const items = () => [...document.querySelectorAll("#tree-editor [role=treeitem]")];
const shown = () => items().filter((item) => !item.hidden);
const number = (item) => Number(item.dataset.number);
const isGroup = (item) => item?.dataset.group === "yes";

export function builders() {
  document.addEventListener("change", (event) => {
    if (!event.target.matches("[data-builder]")) return;
    const { example, about } = event.target.selectedOptions[0].dataset;
    document.getElementById("parameter").value = example;
    document.getElementById("builder-about").textContent = about;
  });
}

export function treeEditor() {
  whenShown(() => { selected = new Set(); taken = []; });
  document.addEventListener("click", onClick);
  document.addEventListener("keydown", onKey);
  document.addEventListener("dragstart", onDragStart);
  for (const kind of ["dragover", "dragleave", "drop"]) document.addEventListener(kind, onDrag);
}

async function edit(what, nodes, more = {}) {
  const part = editor();
  const content = { edit: what, nodes, version: Number(document.getElementById("live").dataset.version), ...more };
  const response = await fetch(part.dataset.edit, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(content),
  });
  const answer = await response.json();
  if (answer.error) {
    say(answer.error);
    if (response.status === 409) await refresh();
    return;
  }
  await refresh();
}

// -- selecting and folding ---------------------------------------------------------------------------

function select(item, more) {
  if (!more) selected.clear();
  const place = number(item);
  if (more && selected.has(place)) selected.delete(place);
  else selected.add(place);
  showSelected();
}

function showSelected() {
  for (const item of items()) {
    item.setAttribute("aria-selected", selected.has(number(item)));
    item.classList.toggle("taken", taken.includes(number(item)));
  }
  const words = document.getElementById("selected");
  if (words) words.textContent = selected.size ? words.dataset.words.replace("{}", selected.size) : "";
  const [only] = selected;
  const field = document.getElementById("label");
  if (field && selected.size === 1 && isGroup(document.getElementById(`node-${only}`))) {
    field.value = document.querySelector(`#node-${only} .label`).textContent;
  }
}

function focus(item) {
  if (!item) return;
  for (const other of items()) other.tabIndex = other === item ? 0 : -1;
  item.focus();
}

function fold(item, open) {
  item.setAttribute("aria-expanded", open);
  let hiddenBelow = Infinity;
  const all = items();
  for (const below of all.slice(all.indexOf(item) + 1)) {
    const depth = Number(below.dataset.depth);
    if (depth <= Number(item.dataset.depth)) break;
    if (depth <= hiddenBelow) hiddenBelow = Infinity;
    below.hidden = !open || depth > hiddenBelow;
    if (open && depth <= hiddenBelow && below.getAttribute("aria-expanded") === "false") hiddenBelow = depth;
  }
}

// -- mouse -------------------------------------------------------------------------------------------

function onClick(event) {
  const button = event.target.closest?.("#tree-editor [data-edit-what]");
  if (button) {
    press(button.dataset.editWhat);
    return;
  }
  const missing = event.target.closest?.("[data-add]");
  if (missing) {
    edit("add", [], { into: 0, label: missing.dataset.add });
    return;
  }
  const item = event.target.closest?.("#tree-editor [role=treeitem]");
  if (!item) return;
  if (event.target.classList.contains("twist") && isGroup(item)) {
    fold(item, item.getAttribute("aria-expanded") === "false");
    return;
  }
  focus(item);
  select(item, event.ctrlKey || event.metaKey || event.shiftKey);
}

function press(what) {
  const label = document.getElementById("label").value;
  const into = Number(document.getElementById("into").value);
  edit(what, [...selected], { label, into });
}

function onDragStart(event) {
  const item = event.target.closest?.("#tree-editor [draggable=true]");
  if (!item) return;
  if (!selected.has(number(item))) select(item, false);
  event.dataTransfer.setData("text/plain", "node");
  event.dataTransfer.effectAllowed = "move";
}

function onDrag(event) {
  const item = event.target.closest?.("#tree-editor [role=treeitem]");
  if (!item || !isGroup(item) || !selected.size || event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  item.classList.toggle("over", event.type === "dragover");
  if (event.type === "drop") edit("move", [...selected], { into: number(item) });
}

// -- keyboard ----------------------------------------------------------------------------------------

const KEYS = {
  ArrowDown: (item) => focus(shown()[shown().indexOf(item) + 1]),
  ArrowUp: (item) => focus(shown()[shown().indexOf(item) - 1]),
  Home: () => focus(shown()[0]),
  End: () => focus(shown().at(-1)),
  ArrowRight: (item) => {
    if (!isGroup(item)) return;
    if (item.getAttribute("aria-expanded") === "false") fold(item, true);
    else focus(shown()[shown().indexOf(item) + 1]);
  },
  ArrowLeft: (item) => {
    if (isGroup(item) && item.getAttribute("aria-expanded") === "true") {
      fold(item, false);
      return;
    }
    const before = shown().slice(0, shown().indexOf(item)).reverse();
    focus(before.find((other) => Number(other.dataset.depth) < Number(item.dataset.depth)));
  },
  " ": (item) => select(item, true),
  x: (item) => {
    taken = selected.size ? [...selected] : [number(item)];
    showSelected();
  },
  v: (item) => taken.length && edit("move", taken, { into: number(item) }),
  F2: (item) => {
    select(item, false);
    document.getElementById("label").select();
  },
  Delete: (item) => edit("dissolve", [number(item)]),
};

function onKey(event) {
  if (event.target.id === "label" && event.key === "Enter") {
    event.preventDefault();
    const [only] = selected;
    press(selected.size === 1 && isGroup(document.getElementById(`node-${only}`)) ? "rename" : "split");
    return;
  }
  const item = event.target.closest?.("#tree-editor [role=treeitem]");
  const what = KEYS[event.key];
  const changes = ["x", "v", "F2", "Delete", " "].includes(event.key);
  if (!item || !what || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  if (!changes || editor().dataset.editable === "yes") what(item);
}
