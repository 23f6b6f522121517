/* What is said of the point under the pointer, or of the one that arrow keys have come to. */
import { element, shape } from "./svg.js";

/*
 * `find(x, y)` gives the stop at a pixel of the drawing or null, `stops()` all of them in order; a stop is
 * {x, y, lines, mark}, where `mark(layer)` may draw what shows which one is meant.
 */
export function follow(place, svg, find, stops) {
  const box = element("div", "", place, "tip");
  box.setAttribute("role", "status");
  const layer = shape("g", { class: "marked" }, svg);
  let chosen = -1;

  function show(stop) {
    layer.replaceChildren();
    box.replaceChildren();
    box.classList.toggle("shown", Boolean(stop));
    if (!stop) return;
    if (stop.mark) stop.mark(layer);
    else shape("circle", { cx: stop.x, cy: stop.y, r: 7 }, layer);
    stop.lines.forEach((line, index) => element(index ? "div" : "b", line, box));
    const wide = place.clientWidth, half = box.offsetWidth / 2;
    box.style.left = `${Math.min(Math.max(stop.x, half + 2), wide - half - 2)}px`;
    const above = stop.y - box.offsetHeight - 14;
    box.style.top = `${(above >= -6 ? above : stop.y + 16) + svg.offsetTopInPlace}px`;
  }

  Object.defineProperty(svg, "offsetTopInPlace", {
    configurable: true,
    get: () => svg.getBoundingClientRect().top - place.getBoundingClientRect().top,
  });
  const at = (event) => {
    const corner = svg.getBoundingClientRect();
    return [event.clientX - corner.left, event.clientY - corner.top];
  };
  svg.addEventListener("pointermove", (event) => show(find(...at(event))));
  svg.addEventListener("pointerdown", (event) => show(find(...at(event))));
  const choose = (stop) => stop && svg.dispatchEvent(new CustomEvent("choose", { bubbles: true, detail: stop.lines }));
  svg.addEventListener("click", (event) => choose(find(...at(event))));
  svg.addEventListener("pointerleave", () => show(null));
  svg.addEventListener("blur", () => { chosen = -1; show(null); });
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const all = stops();
    if (event.key === "Enter" && chosen >= 0) choose(all[chosen]); /* whoever put the chart there may listen */
    if (event.key === "Escape") chosen = -1;
    else if (step && all.length) chosen = (Math.max(chosen, step > 0 ? -1 : 0) + step + all.length) % all.length;
    else return;
    event.preventDefault();
    show(chosen < 0 ? null : all[chosen]);
  });
  return show;
}

/* The nearest of some stops, if one is near. */
export function nearest(stops, x, y, reach = 40) {
  let best = null, least = reach;
  for (const stop of stops) {
    const distance = Math.hypot(stop.x - x, stop.y - y);
    if (distance < least) [best, least] = [stop, distance];
  }
  return best;
}
