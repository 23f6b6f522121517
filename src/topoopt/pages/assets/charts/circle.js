/* The topology on a circle: rings in colors, the links of the server that is pointed at, routes of a chosen pair. */
import { networkDrawing, networkPanel } from "./network_panel.js";
import { colorOf, element, shape } from "./svg.js";

export function drawCircle(place, figure) {
  const { places, servers } = figure;
  const at = (node) => [places[node][0], -places[node][1]];
  const line = (nodes) => nodes.map((node, index) => `${index ? "L" : "M"}${at(node).join(" ")}`).join("");
  const { net, svg } = networkDrawing(place, "net", `${servers} servers on a circle. Arrow keys move, Enter chooses, Escape clears.`);
  svg.setAttribute("viewBox", "-1.18 -1.18 2.36 2.36");

  const cables = figure.rings.reduce((sum, ring) => sum + ring.cables.length, 0);
  const [wide, opacity] = cables <= 300 ? [1.3, 0.8] : cables <= 1200 ? [0.9, 0.6] : [0.5, 0.35];
  const paths = figure.rings.map((ring) => {
    const path = shape("path", { class: "cable", d: ring.cables.map((pair) => line(pair)).join(""), "stroke-width": wide }, svg);
    path.style.stroke = colorOf(ring.color);
    return path;
  });
  svg.style.setProperty("--opacity", opacity);
  const lit = shape("g", {}, svg);
  const size = Math.max(0.009, Math.min(0.022, 0.9 / places.length));
  const dots = places.map((_, node) => {
    const [x, y] = at(node);
    return shape("circle", { cx: x, cy: y, r: size, class: node < servers ? "node" : "node switch" }, svg);
  });
  const labels = new Map();
  const step = [1, 2, 4, 8, 16, 32, 64, 128].find((one) => servers / one <= 40) ?? 256;
  for (let server = 0; server < servers; server += step) {
    const [x, y] = at(server);
    const out = 1.045 + 0.015 * Math.max(1, String(server).length - 1) * (1 + Math.abs(x)); /* wide words stand further out at the sides */
    labels.set(server, shape("text", { x: x * out, y: y * out }, svg, String(server)));
  }
  const over = shape("text", { class: "over" }, svg);

  function paint(shown) {
    lit.replaceChildren();
    for (const dot of dots) dot.classList.remove("near", "end");
    for (const [server, label] of labels) label.style.visibility = server === shown.over ? "hidden" : "";
    svg.classList.toggle("asked", shown.asked);
    for (const [a, b, weight] of shown.lit) {
      const look = weight === null ? { class: "lit" } : { class: "lit way", "stroke-opacity": 0.35 + 0.65 * weight };
      shape("path", { d: line([a, b]), ...look }, lit);
    }
    for (const node of shown.near) dots[node].classList.add("near");
    for (const node of shown.ends) dots[node].classList.add("end");
    over.textContent = "";
    if (shown.over !== null) {
      const [x, y] = at(shown.over);
      over.setAttribute("x", x * 1.075);
      over.setAttribute("y", y * 1.075);
      over.textContent = shown.over < servers ? shown.over : "";
    }
  }

  const side = element("div", "", net, "side");
  const panel = networkPanel(side, figure, figure.rings, paint, (index, hidden) => { paths[index].style.display = hidden ? "none" : ""; });
  panel.listen(svg, (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    let best = null, least = Math.max(0.05, Math.min(0.12, 2 / servers));
    places.forEach((_, node) => {
      const [x, y] = at(node);
      const distance = Math.hypot(x - point.x, y - point.y);
      if (distance < least) [best, least] = [node, distance];
    });
    return best;
  });
  panel.show();
}
