/* A drawing as a file, with the styles that it has on the page. */
const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity", "font", "text-anchor", "dominant-baseline", "vector-effect", "display"];

export function saveDrawing(name, svg) {
  const copy = svg.cloneNode(true);
  const shown = svg.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((one, index) => {
    const style = getComputedStyle(shown[index]);
    for (const key of STYLES) one.style.setProperty(key, style.getPropertyValue(key));
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", svg.clientWidth);
  copy.setAttribute("height", svg.clientHeight);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([copy.outerHTML], { type: "image/svg+xml" }));
  link.download = `${name}.svg`;
  link.click();
  URL.revokeObjectURL(link.href);
}
