/* The plane of a chart: two axes with their ticks and words, a grid, and the place where data are drawn. */
import { shape, shortened, widthOf } from "./svg.js";
import { logTicks, niceTicks, roundIn, tickTexts } from "./units.js";

const LETTERS = 12.5;
const ROW = 18;
const TICK_EVERY_X = 66, TICK_EVERY_Y = 46;

/* Where a value of an axis stands between two pixels; with words their numbers stand for them. */
function scale(axis, from, to) {
  if (axis.words) {
    const step = (to - from) / Math.max(axis.words.length, 1);
    return (index) => from + (index + 0.5) * step;
  }
  const turn = axis.log ? Math.log10 : (value) => value;
  const low = turn(axis.low), span = turn(axis.high) - low || 1;
  return (value) => from + ((turn(value) - low) / span) * (to - from);
}

function ticksOf(axis, room, every) {
  const about = Math.max(2, Math.floor(room / every));
  const unit = axis.scale ?? 1;
  const low = axis.low * unit, high = axis.high * unit;
  const round = roundIn(Math.max(Math.abs(low), Math.abs(high)), axis.unit);
  const found = axis.log ? logTicks(low, high, about) : niceTicks(low / round, high / round, about, axis.whole).map((tick) => tick * round);
  const texts = tickTexts(found, axis.unit ?? "", axis.log);
  return found.map((value, index) => ({ value: value / unit, text: texts[index] }));
}

/* Words below an axis: straight where they fit, on a slant where they do not. */
function wordsBelow(axis, width) {
  const room = width / Math.max(axis.words.length, 1);
  const widest = Math.max(0, ...axis.words.map((word) => widthOf(word, LETTERS)));
  const slanted = widest > room - 8;
  return { slanted, height: slanted ? Math.min(110, widest * 0.6) + 14 : ROW };
}

/*
 * Axes: {label, unit, scale, low, high, log, whole} or {label, words}. Returned are the place of data (x0, x1, y0, y1),
 * both scales, and a group that is cut off at its edges. So many pixels `above` are left free.
 */
export function plane(svg, width, height, x, y, above = 0) {
  const grid = shape("g", { class: "grid" }, svg);
  const yTicks = y.words ? [] : ticksOf(y, height - 70, TICK_EVERY_Y);
  const yTexts = y.words ? y.words.map((word) => shortened(word, width * 0.38, LETTERS)) : yTicks.map((tick) => tick.text);
  const left = 10 + Math.max(y.words && !y.words.length ? 0 : 14, ...yTexts.map((text) => widthOf(text, LETTERS)));
  const top = (y.label ? 30 : 10) + above, right = 16;
  const x0 = left, x1 = Math.max(width - right, left + 40);
  const below = x.words ? wordsBelow(x, x1 - x0) : { height: ROW };
  const y0 = height - below.height - (x.label ? 24 : 4) - 2, y1 = top;
  const sx = scale(x, x0, x1), sy = y.words ? scale(y, y1, y0) : y.down ? scale(y, y1, y0) : scale(y, y0, y1);

  if (y.words) {
    y.words.forEach((word, index) => {
      const one = shape("text", { x: x0 - 8, y: sy(index), class: "tick end" }, grid, yTexts[index]);
      if (yTexts[index] !== word) shape("title", {}, one, word);
    });
  } else {
    for (const tick of yTicks) {
      shape("line", { x1: x0, x2: x1, y1: sy(tick.value), y2: sy(tick.value) }, grid);
      shape("text", { x: x0 - 8, y: sy(tick.value), class: "tick end" }, grid, tick.text);
    }
  }
  if (x.words) {
    const every = Math.ceil(x.words.length / Math.max(1, Math.floor((x1 - x0) / 15)));
    x.words.forEach((word, index) => {
      if (index % every) return;
      const at = sx(index), slant = below.slanted ? `translate(${at} ${y0 + 12}) rotate(-32)` : `translate(${at} ${y0 + 13})`;
      const one = shape("text", { transform: slant, class: below.slanted ? "tick end" : "tick" }, grid, shortened(word, below.slanted ? 170 : 900, LETTERS));
      shape("title", {}, one, word);
    });
  } else {
    let free = -1e9;
    for (const tick of ticksOf(x, x1 - x0, TICK_EVERY_X)) {
      const at = sx(tick.value), half = widthOf(tick.text, LETTERS) / 2;
      shape("line", { x1: at, x2: at, y1: y0, y2: y1 }, grid);
      if (at - half < free || at + half > width) continue; /* no two texts over each other, none cut off */
      free = at + half + 10;
      shape("text", { x: at, y: y0 + 13, class: "tick" }, grid, tick.text);
    }
  }
  shape("path", { d: `M${x0} ${y1}V${y0}H${x1}`, class: "axis" }, svg);
  if (x.label) shape("text", { x: (x0 + x1) / 2, y: height - 10, class: "label" }, svg, shortened(x.label, width - 10));
  if (y.label) shape("text", { x: 2, y: 10, class: "label start" }, svg, shortened(y.label, width - 6));
  const clip = `clip${(plane.count = (plane.count ?? 0) + 1)}`;
  const box = shape("clipPath", { id: clip }, svg);
  shape("rect", { x: x0 - 7, y: y1 - 7, width: x1 - x0 + 14, height: y0 - y1 + 14 }, box);
  return { x0, x1, y0, y1, sx, sy, data: shape("g", { "clip-path": `url(#${clip})` }, svg) };
}

/* The value of an axis at a pixel. */
export function valueAt(axis, share) {
  if (!axis.log) return axis.low + share * (axis.high - axis.low);
  return axis.low * (axis.high / axis.low) ** share;
}
