/* The stages of a pipeline from left to right: what each computes, where it is, and what goes on to the next. */
import { follow } from "./hover.js";
import { shape, shortened } from "./svg.js";
import { said } from "./units.js";

const LEAST_BOX = 128, ARROW = 62, LINE = 17;

export function drawStages(place, svg, figure, state, width) {
  const boxes = figure.stages;
  const each = Math.max(1, Math.min(boxes.length, Math.floor((width + ARROW) / (LEAST_BOX + ARROW))));
  const rows = Math.ceil(boxes.length / each);
  const columns = Math.ceil(boxes.length / rows);
  const wide = Math.min(250, (width - (columns - 1) * ARROW - 4) / columns);
  const lines = Math.max(...boxes.map((box) => box.lines.length));
  const tall = 32 + lines * LINE + 34;
  const between = rows > 1 ? 44 : 0;
  const foot = figure.back ? 42 : 8;
  const height = rows * tall + (rows - 1) * between + foot;
  svg.setAttribute("height", height);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const slowest = Math.max(...boxes.map((box) => box.busy_s), 1e-30);
  const corner = (index) => [2 + (index % columns) * (wide + ARROW), 2 + Math.floor(index / columns) * (tall + between)];
  const stops = boxes.map((box, index) => {
    const [x, y] = corner(index);
    shape("rect", { x, y, width: wide, height: tall - 4, rx: 8, class: "stage" }, svg);
    shape("text", { x: x + 12, y: y + 18, class: "title start" }, svg, shortened(box.name, wide - 24, 14));
    box.lines.forEach((line, row) => shape("text", { x: x + 12, y: y + 41 + row * LINE, class: "label start" }, svg, shortened(line, wide - 24)));
    const full = wide - 24, foot_ = y + tall - 22, part = box.busy_s / slowest;
    shape("rect", { x: x + 12, y: foot_, width: full, height: 7, rx: 3.5, class: "meter" }, svg);
    shape("rect", { x: x + 12, y: foot_, width: Math.max(full * part, 3), height: 7, rx: 3.5, class: "meter full" }, svg);
    return {
      x: x + wide / 2, y: y + 10, lines: [box.name, ...box.lines, `${said(box.busy_s, "s")} a micro-batch, ${Math.round(part * 100)}% of the slowest stage`],
      mark: (layer) => shape("rect", { x, y, width: wide, height: tall - 4, rx: 8, class: "outline" }, layer), box: [x, y],
    };
  });
  figure.sends.forEach((size, index) => {
    if (index + 1 >= boxes.length) return;
    const [x, y] = corner(index), [nx, ny] = corner(index + 1), middle = y + tall / 2 - 8;
    const text = said(size, "B", 3);
    if (ny === y) {
      arrow(svg, `M${x + wide + 4} ${middle}H${nx - 9}`, nx - 4, middle, 0);
      shape("text", { x: (x + wide + nx) / 2, y: middle - 11, class: "small" }, svg, text);
    } else {
      const turn = y + tall + between / 2 - 4;
      arrow(svg, `M${x + wide / 2} ${y + tall}V${turn}H${nx + wide / 2}V${ny - 9}`, nx + wide / 2, ny - 4, 90);
      shape("text", { x: (x + nx + wide) / 2, y: turn - 9, class: "small" }, svg, text);
    }
  });
  if (figure.back) {
    const [x, y] = corner(boxes.length - 1), turn = y + tall + 12, to = corner((rows - 1) * columns)[0] + wide / 2;
    shape("path", { d: `M${x + wide / 2} ${y + tall}V${turn}H${to}V${y + tall}`, class: "arrow dash" }, svg);
    shape("text", { x: 4, y: turn + 16, class: "label start" }, svg, shortened(figure.back, width - 8));
  }
  follow(place, svg, (px, py) => stops.find(({ box: [x, y] }) => px >= x && px <= x + wide && py >= y && py <= y + tall) ?? null, () => stops);
}

function arrow(svg, d, x, y, turn) {
  shape("path", { d, class: "arrow" }, svg);
  shape("path", { d: "M0 0L-8 -4.5V4.5Z", transform: `translate(${x} ${y}) rotate(${turn})`, class: "tip-of" }, svg);
}
