/* Bars over time, in lanes from the top down; a part is enlarged by dragging over it. */
import { follow } from "./hover.js";
import { legend } from "./legend.js";
import { enlarge } from "./lines.js";
import { plane, valueAt } from "./plane.js";
import { colorOf, shape, widthOf } from "./svg.js";

const FEW = 150; /* outlines of more bars would leave nothing of the narrow ones */

export function drawTimeline(place, svg, figure, state, width, redraw) {
  const hidden = (state.hidden ??= new Set());
  const x = state.zoom ? { ...figure.x, ...state.zoom.x } : figure.x;
  const y = figure.lanes.length
    ? { label: figure.label, words: figure.lanes }
    : { label: figure.label, low: -0.5, high: figure.count - 0.5, whole: true, down: true };
  place.insertBefore(legend(place, figure.kinds, hidden, redraw), svg);
  const at = plane(svg, width, figure.height, x, y);
  const lane = (at.y0 - at.y1) / figure.count;
  const gap = Math.min(3, lane * 0.2);
  const paths = figure.kinds.map(() => ["", ""]);
  figure.bars.forEach(([row, start, finish, kind, , rows], index) => {
    if (hidden.has(figure.kinds[kind].name) || finish < x.low || start > x.high) return;
    const left = Math.max(at.sx(start), at.x0), right = Math.min(at.sx(finish), at.x1);
    const top = at.y1 + row * lane + gap / 2, wide = Math.max(right - left, 0.35);
    const shade = figure.bars.length > FEW ? index % 2 : 0; /* neighbors of many are told apart by a paler one */
    paths[kind][shade] += `M${left.toFixed(2)} ${top.toFixed(1)}h${wide.toFixed(2)}v${(rows * lane - gap).toFixed(1)}h${(-wide).toFixed(2)}Z`;
  });
  figure.kinds.forEach((kind, number) => {
    const group = shape("g", {}, at.data);
    group.style.color = colorOf(kind.color);
    paths[number].forEach((d, shade) => {
      if (d) shape("path", { d, class: `fill${shade ? " pale" : ""}${figure.bars.length <= FEW ? " outlined" : ""}` }, group);
    });
  });
  const boxOf = ([row, start, finish, , , rows]) => ({ x: at.sx(start), width: Math.max(at.sx(finish) - at.sx(start), 0.5), y: at.y1 + row * lane, height: rows * lane });
  for (const [row, start, finish, kind, , rows, name] of figure.bars) {
    const left = Math.max(at.sx(start), at.x0), right = Math.min(at.sx(finish), at.x1);
    if (!name || hidden.has(figure.kinds[kind].name) || right - left < widthOf(name, 12) + 6 || rows * lane < 14) continue;
    shape("text", { x: (left + right) / 2, y: at.y1 + (row + rows / 2) * lane, class: "beside" }, at.data, name);
  }
  const stopOf = (bar) => {
    const box = boxOf(bar);
    return {
      x: Math.min(Math.max(box.x + box.width / 2, at.x0), at.x1), y: box.y + 4, lines: [figure.kinds[bar[3]].name, bar[4]],
      mark: (layer) => shape("rect", { ...box, class: "outline" }, layer),
    };
  };
  const find = (px, py) => {
    if (px < at.x0 || px > at.x1) return null;
    const row = Math.floor((py - at.y1) / lane), time = valueAt(x, (px - at.x0) / (at.x1 - at.x0));
    const near = (1.5 / (at.x1 - at.x0)) * (x.high - x.low); /* narrow bars can be met, too */
    const met = figure.bars.filter(([first, start, finish, kind, , rows]) => first <= row && row < first + rows && start - near <= time && time <= finish + near && !hidden.has(figure.kinds[kind].name));
    const inside = met.find(([, start, finish]) => start <= time && time <= finish) ?? met[0];
    return inside ? stopOf(inside) : null;
  };
  follow(place, svg, find, () => figure.bars.slice(0, 400).map(stopOf));
  enlarge(svg, { ...at }, (from, to) => {
    const [a, b] = [from[0], to[0]].map((px) => Math.min(1, Math.max(0, (px - at.x0) / (at.x1 - at.x0)))).sort((p, q) => p - q);
    if (b - a < 0.005) return;
    state.zoom = { x: { low: valueAt(x, a), high: valueAt(x, b) } };
    redraw();
  });
}
