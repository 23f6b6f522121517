/* Draws every figure of the page, one after the other, and again when the theme changes. */
"use strict";
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const { colors, figures } = JSON.parse(document.getElementById("figures").textContent);
  const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const theme = () => (isDark() ? colors : {});
  const recolor = new Map(); /* how each figure that is drawn takes another theme */

  function drawOne(figure) {
    const place = document.querySelector(`[data-chart="${figure.name}"] .plot`);
    try {
      if (figure.kind === "circle") {
        const paint = drawCircle(figure, place);
        recolor.set(figure.name, paint);
        paint(theme());
        addSave(place, () => charts.saveDrawing(figure.name, place.querySelector("svg")));
      } else {
        recolor.set(figure.name, (map) => charts.draw(figure, place, map));
        charts.draw(figure, place, theme());
        charts.numbers(figure, place);
        addSave(place, () => charts.save(figure, place));
      }
      place.dataset.drawn = "yes";
    } catch (error) {
      place.textContent = `This figure could not be drawn: ${error.message}`;
      place.classList.add("failed");
      console.error(figure.name, error);
    }
  }

  function addSave(place, save) {
    const one = document.createElement("button");
    one.type = "button";
    one.className = "save";
    one.textContent = "SVG";
    one.title = "Save this figure as SVG";
    one.addEventListener("click", save);
    place.closest("figure").prepend(one);
  }

  function drawNext(index) {
    if (index === figures.length) {
      root.dataset.drawn = figures.length;
      return;
    }
    drawOne(figures[index]);
    setTimeout(drawNext, 0, index + 1); /* the page answers in between */
  }

  function setTheme(name) {
    if (name) root.dataset.theme = name;
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Show the page ${isDark() ? "light" : "dark"}`);
    for (const paint of recolor.values()) paint(theme());
  }

  button.addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
  system.addEventListener("change", () => setTheme(null));
  let soon = 0;
  addEventListener("resize", () => {
    clearTimeout(soon);
    soon = setTimeout(setTheme, 120, null); /* figures are drawn again, as wide as they have room */
  });
  let before = null;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme ?? "";
    root.classList.add("printing"); /* figures are drawn as wide as the sheet */
    setTheme("light");
  });
  addEventListener("afterprint", () => {
    root.classList.remove("printing");
    if (before === "") delete root.dataset.theme;
    setTheme(before);
  });
  setTheme(null);
  drawNext(0);
})();
