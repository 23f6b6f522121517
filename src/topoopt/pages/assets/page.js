/* Draws every figure of the page, one after the other, and again when the theme or the room changes. */
import { drawChart } from "./charts/draw.js";
import { addNumbers, rowsOf } from "./charts/numbers.js";
import { saveCharts } from "./charts/save.js";
import { isDark } from "./charts/svg.js";

const root = document.documentElement;
const button = document.getElementById("theme");
const system = matchMedia("(prefers-color-scheme: dark)");
const figures = JSON.parse(document.getElementById("figures").textContent);
const drawn = [];
const MATRIX = new Set(["heatmap", "unrolled"]); /* what takes another theme only when it is drawn again */

function drawOne(figure) {
  const place = document.querySelector(`[data-chart="${figure.name}"] .plot`);
  try {
    drawn.push({ figure, place, chart: drawChart(place, figure), width: place.clientWidth });
    addNumbers(place, figure);
    addSave(place, figure);
    place.dataset.drawn = "yes";
  } catch (error) {
    place.textContent = `This figure could not be drawn: ${error.message}`;
    place.classList.add("failed");
    console.error(figure.name, error);
  }
}

function addSave(place, figure) {
  const buttons = document.createElement("div");
  buttons.className = "saves";
  const rows = rowsOf(figure).length > 1 ? () => rowsOf(figure) : null;
  saveCharts(buttons, figure.name, () => place.querySelector("svg.drawing, .net svg"), rows);
  place.closest("figure").prepend(buttons);
}

function drawNext(index) {
  if (index === figures.length) {
    root.dataset.drawn = figures.length;
    return;
  }
  drawOne(figures[index]);
  setTimeout(drawNext, 0, index + 1); /* the page answers in between */
}

function drawAgain(needed) {
  for (const one of drawn) {
    if (!needed(one)) continue;
    one.width = one.place.clientWidth;
    one.chart.redraw();
  }
}

function setTheme(name) {
  if (name) root.dataset.theme = name;
  button.textContent = isDark() ? "Light" : "Dark";
  button.setAttribute("aria-label", `Show the page ${isDark() ? "light" : "dark"}`);
  drawAgain((one) => MATRIX.has(one.figure.kind));
}

const otherWidth = (one) => one.width !== one.place.clientWidth;
button.addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
system.addEventListener("change", () => setTheme(null));
let soon = 0;
addEventListener("resize", () => {
  clearTimeout(soon);
  soon = setTimeout(drawAgain, 120, otherWidth); /* figures are drawn again, as wide as they have room */
});
let before = null;
addEventListener("beforeprint", () => {
  before = root.dataset.theme ?? "";
  root.classList.add("printing"); /* figures are drawn as wide as the sheet */
  setTheme("light");
  drawAgain(otherWidth);
});
addEventListener("afterprint", () => {
  root.classList.remove("printing");
  if (before === "") delete root.dataset.theme;
  setTheme(before);
  drawAgain(otherWidth);
});
setTheme(null);
drawNext(0);
