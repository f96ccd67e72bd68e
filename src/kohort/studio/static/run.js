// A run as it goes on: its share, its words, and the chart of cost and proven bound.
import { draw } from "./chart.js";
import { refresh, whenShown } from "./live.js";

let statusBefore = null;

export function run() {
  whenShown(() => {
    const part = document.getElementById("latest");
    if (!part) return;
    const facts = JSON.parse(part.dataset.run);
    statusBefore = facts.status;
    show(facts);
  });
  document.addEventListener("studio:run", (event) => {
    const facts = event.detail;
    const part = document.getElementById("latest");
    if (document.body.dataset.page !== "run") return;
    if (!part || facts.status !== statusBefore) {
      statusBefore = facts.status;
      refresh();
      return;
    }
    show(facts);
  });
}

function show(facts) {
  const part = document.getElementById("latest");
  if (!part) return;
  const words = part.dataset;
  document.getElementById("run-share").value = facts.share;
  document.getElementById("run-what").textContent = standing(facts, words);
  const cost = facts.points.map(([seconds, value]) => [seconds, value]);
  const bound = facts.points.filter((point) => point[2] !== null).map((point) => [point[0], point[2]]);
  const series = [{ name: words.cost, points: cost }];
  if (bound.length) series.push({ name: words.bound, points: bound });
  const axes = { x: words.seconds, y: words.cost, dots: cost.length < 3, fromZero: true };
  draw(document.getElementById("run-chart"), series, axes, standing(facts, words));
}

// The state of a run in words.
function standing(facts, words) {
  const last = facts.points.at(-1);
  const parts = [facts.what, `${facts.seconds.toFixed(1)} ${words.seconds}`];
  if (last) parts.push(`${words.cost} ${last[1].toPrecision(4)}`);
  if (last && last[2]) {
    parts.push(`${words.bound} ${last[2].toPrecision(4)}`);
    parts.push(`${words.gap} ${(100 * (last[1] / last[2] - 1)).toFixed(1)} %`);
  }
  return parts.join(" · ");
}
