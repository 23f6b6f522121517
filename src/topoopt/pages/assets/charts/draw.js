/*
 * Draws a chart of a page, as topoopt.report.figure describes it, into a place: SVG with what is said of each point.
 * Colors are variables of charts.css, so that a drawing follows the page's theme; only maps of colors are drawn again.
 */
import { drawBars } from "./bars.js";
import { drawCircle } from "./circle.js";
import { drawHeatmap } from "./heatmap.js";
import { drawLines } from "./lines.js";
import { drawPolar } from "./polar.js";
import { drawStages } from "./stages.js";
import { element, shape } from "./svg.js";
import { drawTimeline } from "./timeline.js";
import { drawUnrolled } from "./unrolled.js";

const KINDS = { lines: drawLines, bars: drawBars, heatmap: drawHeatmap, timeline: drawTimeline, polar: drawPolar, stages: drawStages };
const NETWORKS = { circle: drawCircle, unrolled: drawUnrolled };
const LEAST_WIDTH = 240;
const FOCUSED = ".legend button, svg.drawing";

/* Returns {redraw(figure?)}: draws again in the room that there is now, the same figure or another of its kind. */
export function drawChart(place, first) {
  let figure = first;
  const state = {};

  function redraw(next = figure) {
    figure = next;
    const width = Math.max(place.clientWidth, LEAST_WIDTH);
    const focused = [...place.querySelectorAll(FOCUSED)].indexOf(document.activeElement);
    place.replaceChildren();
    place.classList.add("chart");
    if (NETWORKS[figure.kind]) {
      NETWORKS[figure.kind](place, figure, width);
      return;
    }
    const svg = shape("svg", { width, height: figure.height, viewBox: `0 0 ${width} ${figure.height}`, role: "img", tabindex: 0, class: `drawing ${figure.kind}` }, place);
    svg.setAttribute("aria-label", `${figure.title}. Arrow keys go through its points.`);
    KINDS[figure.kind](place, svg, figure, state, width, redraw_);
    if (focused >= 0) place.querySelectorAll(FOCUSED)[focused]?.focus({ preventScroll: true });
    if (state.zoom) {
      const whole = element("button", "Show all of it", place, "whole");
      whole.type = "button";
      whole.addEventListener("click", () => { delete state.zoom; redraw(); });
    }
  }
  const redraw_ = () => redraw();
  redraw();
  return { redraw };
}
