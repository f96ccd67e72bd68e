// The slider of k, and the frontier of risk and loss as its points come in.
import { draw } from "./chart.js";
import { whenShown } from "./live.js";

let points = [];
let waiting = 0;

const percent = (share) => `${(100 * share).toFixed(1)} %`;
const chosenK = () => Number(document.getElementById("k")?.value);

export function promise() {
  whenShown(() => {
    const part = document.getElementById("frontier");
    if (!part) return;
    points = JSON.parse(part.dataset.points);
    waiting = Number(part.dataset.waiting);
    show();
  });
  document.addEventListener("studio:frontier", (event) => {
    ({ points, waiting } = event.detail);
    show();
  });
  document.addEventListener("input", (event) => {
    if (!["k", "k-slider"].includes(event.target.id)) return;
    const other = document.getElementById(event.target.id === "k" ? "k-slider" : "k");
    if (event.target.value) other.value = event.target.value;
    show();
  });
  document.addEventListener("change", (event) => {
    if (["k", "k-slider"].includes(event.target.id)) document.getElementById("promise-form").requestSubmit();
  });
}

function show() {
  const part = document.getElementById("frontier");
  if (!part) return;
  const words = part.dataset;
  const done = points.filter((point) => point.status === "done");
  const line = done.map((point) => [point.highest_risk, point.loss, `k = ${point.k}`, point.k === chosenK()]);
  const axes = { x: words.risk, y: words.loss, percentX: true, dots: true, fromZero: true };
  draw(document.getElementById("frontier-chart"), [{ points: line }], axes, sentence(done, words));
  document.getElementById("frontier-waiting").textContent = waiting ? words.wordsWaiting.replace("{}", waiting) : "";
  document.querySelector("#frontier-table tbody").replaceChildren(...points.map((point) => row(point, words)));
  showK(done);
}

function sentence(done, words) {
  return done.map((point) => `k = ${point.k}: ${words.risk} ${percent(point.highest_risk)}, ${words.loss} ${point.loss.toFixed(3)}`).join("; ");
}

function row(point, words) {
  const line = document.createElement("tr");
  const done = point.status === "done";
  const cells = [
    point.k,
    done ? percent(point.highest_risk) : "-",
    done ? point.loss.toFixed(3) : "-",
    done ? (point.k === chosenK() ? words.chosen : "") : point.reason,
  ];
  cells.forEach((text, place) => {
    const cell = document.createElement("td");
    cell.textContent = text;
    if (place < 3) cell.className = "n";
    line.append(cell);
  });
  return line;
}

// What the chosen k means, from the point that is nearest to it.
function showK(done) {
  const line = document.getElementById("k-says");
  const k = chosenK();
  const point = done.find((found) => found.k === k);
  const risk = `${line.dataset.risk}: ${percent(1 / k)}`;
  line.textContent = !k ? "" : point ? `${risk}, ${line.dataset.loss}: ${point.loss.toFixed(3)}` : risk;
}
