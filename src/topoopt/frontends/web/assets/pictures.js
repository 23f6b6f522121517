/* The charts of an answer, drawn by the report's modules: money against time with what else is known, and where the time goes. */
import { drawChart } from "./charts/draw.js";

const ROOM = 0.05; /* of an axis, beyond a point that widens it */

export class Pictures {
  /* `onChoose` is called with the name of the fabric that was clicked, in either chart. */
  constructor(money, parts, onChoose) {
    this.places = { money, parts };
    this.drawn = {};
    for (const place of [money, parts]) place.addEventListener("choose", (event) => onChoose(event.detail));
  }

  show(figures, kept) {
    this.draw("money", kept.reduce(withKept, figures.money));
    this.draw("parts", figures.parts);
  }

  draw(name, figure) {
    if (this.drawn[name]) this.drawn[name].redraw(figure);
    else this.drawn[name] = drawChart(this.places[name], figure);
  }

  redraw() { for (const one of Object.values(this.drawn)) one.redraw(); }
}

/* An answer that was kept is a square with its letter. */
function withKept(figure, one) {
  if (one.usd === null) return figure;
  return withSeries(figure, { name: one.letter, color: "plain", hollow: false, mark: "square", x: [one.usd], y: [one.s], labels: [one.said] });
}

/* The figure with one series of points more, and axes that reach them. */
function withSeries(figure, series) {
  const [x, y] = [widened(figure.x, series.x), widened(figure.y, series.y)];
  return { ...figure, x, y, series: [...figure.series, { dash: "solid", marked: true, joined: false, stepped: false, ...series }] };
}

function widened(axis, values) {
  const room = ROOM * (axis.high - axis.low);
  const low = Math.min(...values), high = Math.max(...values);
  return { ...axis, low: low < axis.low ? Math.max(low - room, 0) : axis.low, high: high > axis.high ? high + room : axis.high };
}
