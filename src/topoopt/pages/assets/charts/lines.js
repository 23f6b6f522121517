/* Lines and points over two axes; a part is enlarged by dragging over it. */
import { follow, nearest } from "./hover.js";
import { legend } from "./legend.js";
import { marker } from "./marks.js";
import { plane, valueAt } from "./plane.js";
import { colorOf, shape, widthOf } from "./svg.js";
import { limits } from "./limits.js";
import { said } from "./units.js";

export function drawLines(place, svg, figure, state, width, redraw) {
  const hidden = (state.hidden ??= new Set());
  const shown = figure.series.filter((one) => !hidden.has(one.name));
  const x = state.zoom ? { ...figure.x, ...state.zoom.x } : figure.x;
  const y = state.zoom ? { ...figure.y, ...state.zoom.y } : figure.y;
  if (figure.series.length > 1) place.insertBefore(legend(place, entries(figure), hidden, redraw), svg);
  const at = plane(svg, width, figure.height, x, y, figure.x_limits ? 16 : 0);
  const across = (value) => at.sx(x.words ? x.words.indexOf(value) : value);
  const fits = (px, py) => Number.isFinite(px) && Number.isFinite(py);
  const stops = [];
  for (const one of shown) {
    const group = shape("g", {}, at.data);
    group.style.color = colorOf(one.color);
    let path = "", above = null, before = null;
    one.x.forEach((value, index) => {
      const height = one.y[index];
      const px = across(value), py = height === null ? NaN : at.sy(height);
      if (!fits(px, py)) { before = null; return; }
      if (before === null) path += `M${px.toFixed(1)} ${py.toFixed(1)}`;
      else path += one.stepped ? `H${px.toFixed(1)}V${py.toFixed(1)}` : `L${px.toFixed(1)} ${py.toFixed(1)}`;
      before = above = [px, py];
      const word = one.labels ? [one.labels[index]] : [];
      stops.push({
        x: px, y: py, series: one, row: index,
        lines: [one.name, ...word, `${heading(figure.x)}${valueText(figure.x, value)}`, `${heading(figure.y)}${valueText(figure.y, height)}`],
      });
    });
    if (one.joined) shape("path", { d: path, class: `stroke line ${one.dash}${one.hollow ? " thin" : ""}` }, group);
    if (one.marked) {
      for (const stop of stops) if (stop.series === one) marker(group, stop.x, stop.y, one.mark, one.hollow, one.joined ? 3.6 : 4.8);
    }
    if (one.ringed) for (const stop of stops) if (stop.series === one) shape("circle", { cx: stop.x, cy: stop.y, r: 9.5, class: "ring" }, group);
    if (above === null) group.remove();
  }
  nameBeside(at, shown, stops, width);
  limits(svg, at, figure.limits, width);
  limits(svg, at, figure.x_limits ?? [], width, true);
  const within = stops.filter((stop) => stop.x >= at.x0 - 7 && stop.x <= at.x1 + 7 && stop.y <= at.y0 + 7 && stop.y >= at.y1 - 7);
  follow(place, svg, (px, py) => nearest(within, px, py), () => within);
  if (!x.words) enlarge(svg, at, (from, to) => {
    const share = (px, a, b) => Math.min(1, Math.max(0, (px - a) / (b - a)));
    const [a, b] = [share(from[0], at.x0, at.x1), share(to[0], at.x0, at.x1)].sort((p, q) => p - q);
    const [c, d] = [share(from[1], at.y0, at.y1), share(to[1], at.y0, at.y1)].sort((p, q) => p - q);
    if (b - a < 0.02) return;
    state.zoom = { x: { low: valueAt(x, a), high: valueAt(x, b) }, y: d - c < 0.12 ? {} : { low: valueAt(y, c), high: valueAt(y, d) } };
    redraw();
  });
}

/* Names beside points: those of a series, or its own if it has one point; farther off, and with a leader, where it is crowded. */
function nameBeside(at, shown, stops, width) {
  const box = (x, y, wide, high) => ({ x0: x - wide, x1: x + wide, y0: y - high, y1: y + high });
  const meets = (a, b) => a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
  const taken = stops.map(({ x, y, series }) => (series.ringed ? box(x, y, 11, 11) : box(x, y, 7, 7)));
  const alongLine = (x0, y0, x1, y1) => {
    const parts = Math.ceil(Math.hypot(x1 - x0, y1 - y0) / 6);
    for (let n = 1; n < parts; n += 1) taken.push(box(x0 + ((x1 - x0) * n) / parts, y0 + ((y1 - y0) * n) / parts, 2, 2));
  };
  for (const one of shown.filter(({ joined, names }) => joined && names)) {
    stops.filter(({ series }) => series === one).reduce((a, b) => {
      alongLine(a.x, a.y, b.x, one.stepped ? a.y : b.y);
      if (one.stepped) alongLine(b.x, a.y, b.x, b.y);
      return b;
    });
  }
  for (const stop of stops) {
    const { series, row, x, y } = stop;
    const name = series.names ? series.names[row] : !series.joined && series.x.length === 1 && !series.hollow ? series.name : "";
    if (!name) continue;
    const wide = widthOf(name, 12);
    for (const [far, turn] of [12, 24, 42, 64, 90].flatMap((far) => [-1, 1, -5, 5, 0, 6, -3, 3].map((turn) => [far, (turn * Math.PI) / 6]))) {
      const px = x + far * Math.cos(turn), py = y + 1.2 * far * Math.sin(turn), lean = Math.cos(turn);
      const side = lean > 0.1 ? "start" : lean < -0.1 ? "end" : "";
      const left = side === "start" ? px : side === "end" ? px - wide : px - wide / 2;
      const text = { x0: left, x1: left + wide, y0: py - 7, y1: py + 7 };
      if (taken.some((other) => meets(text, other)) || text.x0 < at.x0 || text.x1 > Math.min(width, at.x1 + 7) || text.y0 < at.y1 - 8 || text.y1 > at.y0) continue;
      if (far > 12) {
        shape("path", { d: `M${x} ${y}L${px} ${py}`, class: "leader" }, at.data);
        alongLine(x, y, px, py);
      }
      taken.push(text);
      shape("text", { x: px, y: py, class: `beside ${side}` }, at.data, name);
      break;
    }
  }
}

const heading = (axis) => (axis.label ? `${axis.label}: ` : "");

const valueText = (axis, value) => (typeof value === "string" ? value : said(value === null ? null : value * (axis.scale ?? 1), axis.unit ?? "", 5));

const entries = (figure) => figure.series.map((one) => ({
  name: one.name, color: one.color, dash: one.dash, line: one.joined, hollow: one.hollow, mark: one.marked ? one.mark : "",
}));

/* Calls with the two ends of what was dragged over with a mouse. */
export function enlarge(svg, at, done) {
  let from = null, box = null;
  const point = (event) => {
    const corner = svg.getBoundingClientRect();
    return [event.clientX - corner.left, event.clientY - corner.top];
  };
  svg.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    from = point(event);
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    if (from === null) return;
    const to = point(event);
    box ??= shape("rect", { class: "drag" }, svg);
    const high = Math.abs(to[1] - from[1]) > (at.y0 - at.y1) * 0.12;
    const area = { x: Math.min(from[0], to[0]), width: Math.abs(to[0] - from[0]), y: high ? Math.min(from[1], to[1]) : at.y1, height: high ? Math.abs(to[1] - from[1]) : at.y0 - at.y1 };
    for (const [key, value] of Object.entries(area)) box.setAttribute(key, value);
  });
  svg.addEventListener("pointerup", (event) => {
    if (from === null) return;
    const start = from;
    from = null;
    box?.remove();
    if (box) done(start, point(event));
    box = null;
  });
}
