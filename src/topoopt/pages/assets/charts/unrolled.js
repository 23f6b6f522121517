/* A topology of many servers: who is linked with whom as a matrix, and each ring cut open and laid in rows. */
import { shade } from "./heatmap.js";
import { networkDrawing, networkPanel } from "./network_panel.js";
import { colorOf, element, isDark, shape, shortened, widthOf } from "./svg.js";
import { niceTicks } from "./units.js";

const LEAST_MARK = 1.7; /* pixels of a link in the matrix: one that is finer is not seen */
const LEAST_MATRIX = 300; /* pixels of one of several matrices */
const MOST_CELLS = 8192; /* of all rings together: of longer ones the first so many servers are laid out */
const MOST_ROWS = 44; /* of the rings together, from which on their cells are small and without numbers */

export function drawUnrolled(place, figure, width) {
  const { net, svg } = networkDrawing(place, "net unrolled", `Who is linked with whom among ${figure.servers} servers: a row sends, a column receives. Arrow keys move, Enter chooses, Escape clears.`);
  const maps = matrices(svg, figure, width);
  if (figure.groups.length > 1) svg.classList.add("many");
  const side = element("div", "", net, "side");
  const strips = figure.walks.length ? ringRows(element("details", "", net, "strips"), figure, width) : null;
  const each = strips ? [...maps, strips] : maps;
  const panel = networkPanel(side, figure, figure.rings, (shown) => {
    svg.classList.toggle("asked", shown.asked);
    for (const one of each) one.paint(shown);
  }, (index, hidden) => { for (const one of each) one.hide(index, hidden); });
  panel.listen(svg, (event) => maps.map((one) => one.find(event)).find((node) => node !== null) ?? null);
  if (strips) panel.listen(strips.svg, strips.find);
  panel.show();
}

/* A matrix for each group of rings, with their links in color, beside each other; one large one where there is one group. */
function matrices(svg, figure, width) {
  const { groups } = figure;
  const columns = groups.length > 1 ? Math.max(1, Math.min(groups.length, Math.floor(width / LEAST_MATRIX), 4)) : 1;
  const room = groups.length > 1 ? width / columns : width >= 760 ? Math.min(width * 0.5, 600) : width;
  const heading = groups.length > 1 ? 20 : 0, rows = Math.ceil(groups.length / columns);
  const total = { width: room * columns, height: (room + heading) * rows };
  for (const [key, value] of Object.entries(total)) svg.setAttribute(key, value);
  svg.setAttribute("viewBox", `0 0 ${total.width} ${total.height}`);
  return groups.map((group, index) => adjacency(svg, figure, group, { x: (index % columns) * room, y: Math.floor(index / columns) * (room + heading), room, heading, scaled: total.width }));
}

/* Every link of a group a square: its row sends, its column receives; its color is that of its ring. */
function adjacency(svg, figure, group, { x, y, room, heading, scaled }) {
  const { nodes, servers } = figure;
  const left = x + 16 + widthOf(String(nodes), 12.5), top = y + 34 + heading;
  const cell = (room - (left - x) - 10) / nodes, far = left + cell * nodes, low = top + cell * nodes;
  const middle = (node, from) => from + (node + 0.5) * cell;
  if (group.name) shape("text", { x, y: y + 8, class: "title start" }, svg, shortened(group.name, room - 8, 14));
  for (const tick of niceTicks(0, nodes - 1, Math.floor(room / 90), true)) {
    shape("text", { x: middle(tick, left), y: top - 9, class: "tick" }, svg, String(tick));
    shape("text", { x: left - 6, y: middle(tick, top), class: "tick end" }, svg, String(tick));
  }
  shape("text", { x: (left + far) / 2, y: y + heading + 9, class: "label" }, svg, "to server");
  shape("text", { transform: `translate(${x + 8} ${(top + low) / 2}) rotate(-90)`, class: "label" }, svg, "from server");
  shape("rect", { x: left, y: top, width: far - left, height: low - top, class: "frame" }, svg);
  if (nodes > servers) shape("path", { d: `M${left + cell * servers} ${top}V${low}M${left} ${top + cell * servers}H${far}`, class: "axis" }, svg);

  const of = new Map();
  figure.rings.forEach((ring, index) => ring.cables.forEach(([a, b]) => { for (const pair of [`${a}-${b}`, `${b}-${a}`]) if (!of.has(pair)) of.set(pair, index); }));
  const marks = figure.rings.map(() => "");
  const size = Math.max(cell, LEAST_MARK), side = size.toFixed(2); /* filled squares, which every printer draws */
  for (const [src, dst] of figure.links) marks[of.get(`${src}-${dst}`) ?? figure.rings.length - 1] += `M${(middle(dst, left) - size / 2).toFixed(1)} ${(middle(src, top) - size / 2).toFixed(1)}h${side}v${side}h-${side}Z`;
  const paths = marks.map((d, index) => {
    if (!group.lines.includes(index)) return null;
    const path = shape("path", { d, class: "link" }, svg);
    path.style.fill = colorOf(figure.rings[index].color);
    return path;
  });
  const lit = shape("g", {}, svg);
  return {
    hide: (index, hidden) => { if (paths[index]) paths[index].style.display = hidden ? "none" : ""; },
    paint: (shown) => {
      lit.replaceChildren();
      const r = Math.max(cell / 2, 3.4);
      for (const end of shown.ends) {
        shape("path", { d: `M${left} ${middle(end, top)}H${far}M${middle(end, left)} ${top}V${low}`, class: "cross" }, lit);
      }
      for (const [a, b, weight] of shown.lit) shape("circle", { cx: middle(b, left), cy: middle(a, top), r, class: "lit", opacity: weight === null ? 1 : 0.35 + 0.65 * weight }, lit);
    },
    find: (event) => {
      const corner = svg.getBoundingClientRect();
      const scale = scaled / corner.width; /* narrower than drawn where there is less room */
      const row = Math.floor(((event.clientY - corner.top) * scale - top) / cell), column = ((event.clientX - corner.left) * scale - left) / cell;
      return row >= 0 && row < nodes && column >= -4 && column < nodes ? row : null;
    },
  };
}

/* Each ring in the order of its walk, row by row as text is; the cell after the last is the first again. */
function ringRows(net, figure, width) {
  element("summary", "The rings in order, server by server", net);
  const most = Math.max(64, Math.floor(MOST_CELLS / figure.walks.length));
  const walks = figure.walks.map((one) => ({ ...one, length: one.walk.length, walk: one.walk.slice(0, most) }));
  const { svg } = networkDrawing(net, "", "The rings, cut open: every server stands between its two neighbors.");
  const longest = Math.max(...walks.map(({ walk }) => walk.length));
  const wide = widthOf(String(figure.servers), 11) + 10;
  const room = Math.max(width - 4, 100);
  let columns = Math.max(4, Math.floor(room / wide));
  const rowsOf = (count) => walks.reduce((sum, { walk }) => sum + Math.ceil(walk.length / count), 0);
  const numbered = rowsOf(columns) <= MOST_ROWS;
  if (!numbered) columns = Math.max(16, Math.floor(room / 8));
  columns = Math.min(columns, longest);
  for (const whole of [128, 64, 32, 16]) if (columns >= whole) { columns = whole * Math.floor(columns / whole); break; }
  const cell = Math.min(room / columns, numbered ? 44 : 14), height = numbered ? 19 : 10;
  const shown_ = isDark() ? (share) => shade(0.25 + 0.7 * share) : (share) => shade(0.95 - 0.7 * share);
  const cells = [];
  let y = 4;
  const groups = walks.map(({ name, color, walk, length }) => {
    const group = shape("g", {}, svg);
    shape("rect", { x: 0, y: y + 3, width: 16, height: 4, rx: 2 }, group).style.fill = colorOf(color); /* a page may forbid styles in markup */
    shape("text", { x: 22, y: y + 6, class: "label start" }, group, walk.length < length ? `${name}: the first ${walk.length} of its ${length} servers` : `${name}: ${length} servers, then from the start again`);
    y += 16;
    walk.forEach((server, index) => {
      const x = (index % columns) * cell, at = y + Math.floor(index / columns) * height;
      cells.push({ server, x, y: at, group });
      shape("rect", { x: x + 0.4, y: at + 0.4, width: cell - 0.8, height: height - 0.8, class: "cell", fill: shown_(server / figure.servers), "fill-opacity": numbered ? 0.3 : 1 }, group);
      if (numbered) shape("text", { x: x + cell / 2, y: at + height / 2, class: "cell" }, group, String(server));
    });
    y += Math.ceil(walk.length / columns) * height + 10;
    return group;
  });
  svg.setAttribute("width", width);
  svg.setAttribute("height", y);
  svg.setAttribute("viewBox", `0 0 ${width} ${y}`);
  const lit = shape("g", {}, svg);
  return {
    svg,
    hide: (index, hidden) => { if (groups[index]) groups[index].style.display = hidden ? "none" : ""; },
    paint: (shown) => {
      lit.replaceChildren();
      const near = new Set(shown.near), ends = new Set(shown.ends);
      for (const { server, x, y: at, group } of cells) {
        if ((!ends.has(server) && !near.has(server)) || group.style.display === "none") continue;
        shape("rect", { x: x + 0.8, y: at + 0.8, width: cell - 1.6, height: height - 1.6, class: ends.has(server) ? "end" : "near" }, lit);
      }
    },
    find: (event) => {
      const corner = svg.getBoundingClientRect(), scale = width / corner.width;
      const px = (event.clientX - corner.left) * scale, py = (event.clientY - corner.top) * scale;
      return cells.find((one) => px >= one.x && px < one.x + cell && py >= one.y && py < one.y + height && one.group.style.display !== "none")?.server ?? null;
    },
  };
}
