// Questions about a release: single records before and after, attacks with chosen knowledge, queries, the map.
import { say, whenShown } from "./live.js";

const MOST_CONDITIONS = 3;
const part = (id) => document.getElementById(id);

async function ask(question) {
  const response = await fetch(part("judge-tools").dataset.ask, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(question),
  });
  const answer = await response.json();
  if (response.ok) return answer; // of a query, `error` is how far its answer is off
  say(answer.error);
  part("message").scrollIntoView();
  return null;
}

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

const FORMS = {
  "records-form": () => showRecords(),
  "attack-form": () => attack(),
  "query-form": () => count(),
  "map-form": () => showMap(),
  "item-attack-form": () => attackByItems(),
  "item-query-form": () => countBaskets(),
  "item-map-form": () => showItemMap(),
};

export function judge() {
  whenShown(() => {
    showPublishedNode();
    if (part("query-form")) prepareQuery();
    if (part("item-query-form")) prepareItems();
  });
  document.addEventListener("submit", (event) => {
    const how = FORMS[event.target.id];
    if (!how) return;
    event.preventDefault();
    how();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-class]");
    if (button) showRecords(Number(button.dataset.class));
  });
}

// The node that is published is in the middle of its picture, where that is wider than the page.
function showPublishedNode() {
  const node = document.querySelector("#lattice-picture .chosen");
  if (!node) return;
  const frame = node.closest(".scroll");
  frame.scrollLeft = Number(node.getAttribute("x")) + Number(node.getAttribute("width")) / 2 - frame.clientWidth / 2;
}

// -- records -----------------------------------------------------------------------------------------

async function showRecords(klass) {
  const first = klass === undefined ? Number(part("first").value || 1) - 1 : 0;
  const found = await ask({ ask: "records", first, class: klass });
  if (!found) return;
  const words = part("records").dataset;
  const about = klass === undefined ? words.all : words.ofClass.replace("{}", klass);
  part("records-of").textContent = `${about}: ${found.first + 1} - ${found.first + found.rows.length} / ${found.of}`;
  part("records-table").replaceChildren(head(found, words), body(found, words));
  part("records").scrollIntoView();
}

function head(found, words) {
  const line = element("tr");
  const counted = found.classes ? [words.counted] : [];
  for (const name of [words.record, "", ...counted, ...found.columns]) line.append(element("th", name, { scope: "col" }));
  const made = element("thead");
  made.append(line);
  return made;
}

function body(found, words) {
  const made = element("tbody");
  for (const row of found.rows) {
    const [none, size] = found.classes ? [[""], [row.size]] : [[], []];
    made.append(recordLine([row.original, words.original, ...none], row.before, row.after, ""));
    made.append(recordLine(["", words.published, ...size], row.after, row.before, "published"));
  }
  return made;
}

function recordLine(first, cells, others, name) {
  const line = element("tr", undefined, { class: name });
  for (const text of first) line.append(element("td", text));
  cells.forEach((cell, place) => {
    line.append(element("td", cell ?? "", { class: cell === others[place] ? "" : "changed" }));
  });
  return line;
}

// -- attack ------------------------------------------------------------------------------------------

async function attack() {
  const known = [...document.querySelectorAll("#attack-form [name=known]:checked")].map((box) => box.value);
  const found = await ask({ ask: "attack", known });
  if (found) part("attack-answer").textContent = found.sentence;
}

// -- query -------------------------------------------------------------------------------------------

let columns = [];

async function prepareQuery() {
  const found = await ask({ ask: "values" });
  if (!found || !part("conditions")) return;
  columns = found.columns;
  part("conditions").replaceChildren(...Array.from({ length: MOST_CONDITIONS }, (_, place) => condition(place)));
}

function condition(place) {
  const words = part("query").dataset;
  const line = element("div", undefined, { class: "inline" });
  const choice = selectOf(`condition-${place}`, `${words.column} ${place + 1}`, ["", ...columns.map((column) => column.name)]);
  choice.querySelector("option").textContent = words.none;
  const values = element("div", undefined, { class: "inline" });
  choice.addEventListener("change", () => {
    const column = columns.find((found) => found.name === choice.querySelector("select").value);
    values.replaceChildren(...(column ? fieldsOf(column, place, words) : []));
  });
  line.append(choice, values);
  return line;
}

function fieldsOf(column, place, words) {
  if (!column.ordered) return [selectOf(`values-${place}`, words.values, column.values, true)];
  const [from, to] = [selectOf(`from-${place}`, words.from, column.values), selectOf(`to-${place}`, words.to, column.values)];
  to.querySelector("select").value = column.values.at(-1);
  return [from, to];
}

function selectOf(id, words, values, several = false) {
  const field = element("div", undefined, { class: "field" });
  const chosen = element("select", undefined, { id, ...(several ? { multiple: "", size: 4 } : {}) });
  for (const value of values) chosen.append(element("option", value, { value }));
  field.append(element("label", words, { for: id }), chosen);
  return field;
}

async function count() {
  const conditions = [];
  for (let place = 0; place < MOST_CONDITIONS; place += 1) {
    const column = part(`condition-${place}`)?.value;
    if (!column) continue;
    const several = part(`values-${place}`);
    if (several) conditions.push({ column, values: [...several.selectedOptions].map((option) => option.value) });
    else conditions.push({ column, from: part(`from-${place}`).value, to: part(`to-${place}`).value });
  }
  showAnswer(await ask({ ask: "query", conditions }), part("query").dataset);
}

function showAnswer(found, words) {
  if (!found) return;
  const expected = Math.round(found.expected).toLocaleString("en");
  const text = found.error === null ? words.nothing : words.answer;
  part("query-answer").textContent = text
    .replace("{true}", found.true.toLocaleString("en"))
    .replace("{expected}", expected)
    .replace("{error}", `${(100 * (found.error ?? 0)).toFixed(1)} %`);
}

// -- map ---------------------------------------------------------------------------------------------

async function showMap() {
  const found = await ask({ ask: "map" });
  if (!found) return;
  part("map-says").textContent = found.reason ?? "";
  part("map-tables").replaceChildren(...found.columns.map((column) => mapTable(column)));
}

function mapTable(column) {
  return pairsTable(`${column.name}: ${column.values} → ${column.labels.length}`, column.pairs);
}

function pairsTable(summary, pairs) {
  const words = part("map").dataset;
  const details = element("details");
  details.append(element("summary", summary));
  const table = element("table");
  const first = element("tr");
  for (const name of [words.value, words.published]) first.append(element("th", name, { scope: "col" }));
  table.append(first);
  for (const pair of pairs) {
    const line = element("tr");
    for (const text of pair) line.append(element("td", text ?? ""));
    table.append(line);
  }
  details.append(table);
  return details;
}

// -- items of baskets --------------------------------------------------------------------------------

async function attackByItems() {
  const found = await ask({ ask: "item_attack", known: Number(part("known-items").value || 1) });
  if (found) part("attack-answer").textContent = found.sentence;
}

async function prepareItems() {
  const found = await ask({ ask: "items" });
  const choice = part("asked-items");
  if (!found || !choice || choice.options.length) return; // what is chosen stays
  const options = found.items.map((row) => element("option", `${row.item} (${row.baskets.toLocaleString("en")})`, { value: row.item }));
  choice.replaceChildren(...options);
}

async function countBaskets() {
  const items = [...part("asked-items").selectedOptions].map((option) => option.value);
  showAnswer(await ask({ ask: "item_query", items }), part("item-query").dataset);
}

async function showItemMap() {
  const found = await ask({ ask: "item_map" });
  if (!found) return;
  const summary = part("map").dataset.summary.replace("{shown}", found.items.length).replace("{items}", found.distinct).replace("{labels}", found.published);
  const table = pairsTable(summary, found.items);
  table.open = true;
  part("map-tables").replaceChildren(table);
}
