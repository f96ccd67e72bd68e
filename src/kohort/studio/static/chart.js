// A small chart of lines and points, as SVG without any inline style.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 560;
const HEIGHT = 260;
const EDGE = { left: 58, right: 16, top: 30, bottom: 42 };

function make(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// About five round numbers from the least to the most.
function ticks(least, most) {
  const rough = (most - least || 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((found) => found >= rough);
  const found = [];
  for (let at = Math.ceil(least / step) * step; at <= most + step / 1e6; at += step) found.push(at);
  return found;
}

function scale(least, most, from, to) {
  const width = most - least || 1;
  return (value) => from + ((value - least) / width) * (to - from);
}

// series: [{ name, points: [[x, y, text?, chosen?]] }]; axes: { x, y, percentX, percentY, dots }; says: its alternative
export function draw(place, series, axes, says) {
  const points = series.flatMap((one) => one.points);
  if (!points.length) {
    place.replaceChildren();
    return;
  }
  const xs = points.map((point) => point[0]);
  const ys = points.map((point) => point[1]);
  const x = scale(Math.min(0, ...xs), Math.max(...xs), EDGE.left, WIDTH - EDGE.right);
  const low = axes.fromZero ? 0 : Math.min(...ys);
  const margin = (Math.max(...ys) - low) * 0.08 || Math.abs(low) * 0.1 || 0.1;
  const least = Math.max(0, low - margin);
  const y = scale(least, Math.max(...ys) + margin, HEIGHT - EDGE.bottom, EDGE.top);
  const svg = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": says });
  drawAxes(svg, x, y, [0, Math.max(...xs)], [least, Math.max(...ys) + margin], axes);
  series.forEach((one, place) => drawSeries(svg, one, place, x, y, axes));
  place.replaceChildren(svg);
}

function drawAxes(svg, x, y, [fromX, toX], [fromY, toY], axes) {
  const shown = (value, percent) => (percent ? `${+(100 * value).toFixed(2)} %` : `${+value.toPrecision(4)}`);
  for (const at of ticks(fromX, toX)) {
    svg.append(make("line", { class: "axis", x1: x(at), x2: x(at), y1: EDGE.top, y2: HEIGHT - EDGE.bottom }));
    svg.append(make("text", { x: x(at), y: HEIGHT - EDGE.bottom + 16, "text-anchor": "middle" }, shown(at, axes.percentX)));
  }
  for (const at of ticks(fromY, toY)) {
    svg.append(make("line", { class: "axis", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: y(at), y2: y(at) }));
    svg.append(make("text", { x: EDGE.left - 6, y: y(at) + 4, "text-anchor": "end" }, shown(at, axes.percentY)));
  }
  svg.append(make("text", { x: (EDGE.left + WIDTH) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, axes.x));
  svg.append(make("text", { x: 4, y: 12 }, axes.y));
}

function drawSeries(svg, one, place, x, y, axes) {
  const path = one.points.map((point) => `${x(point[0]).toFixed(1)},${y(point[1]).toFixed(1)}`).join(" ");
  svg.append(make("polyline", { class: `series-${place}`, points: path }));
  const last = one.points.at(-1);
  if (last && one.name) {
    const attributes = { x: WIDTH - EDGE.right, y: y(last[1]) - 6, "text-anchor": "end" };
    svg.append(make("text", attributes, one.name));
  }
  if (!axes.dots) return;
  for (const [atX, atY, text, chosen] of one.points) {
    svg.append(make("circle", { class: chosen ? "point chosen" : "point", cx: x(atX), cy: y(atY), r: chosen ? 6 : 4 }));
    const atEdge = x(atX) > WIDTH - 70;
    const side = atEdge ? { x: x(atX) - 7, "text-anchor": "end" } : { x: x(atX) + 7 };
    if (text) svg.append(make("text", { ...side, y: y(atY) - 7 }, text));
  }
}
