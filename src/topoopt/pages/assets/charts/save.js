/* A drawing as a file, with the styles that it has on the page. */
const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity", "font", "text-anchor", "dominant-baseline", "vector-effect", "display"];

function styled(svg) {
  const copy = svg.cloneNode(true);
  const shown = svg.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((one, index) => {
    const style = getComputedStyle(shown[index]);
    for (const key of STYLES) one.style.setProperty(key, style.getPropertyValue(key));
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", svg.clientWidth);
  copy.setAttribute("height", svg.clientHeight);
  return new Blob([copy.outerHTML], { type: "image/svg+xml" });
}

function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/* Rows of cells as a file of comma-separated values. */
export function saveRows(name, rows) {
  const quoted = (cell) => (cell === null || cell === undefined ? "" : /[",\n]/.test(String(cell)) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell));
  save(name, new Blob([rows.map((row) => `${row.map(quoted).join(",")}\n`).join("")], { type: "text/csv" }));
}

function saveDrawing(name, svg) { save(`${name}.svg`, styled(svg)); }

const SHARP = 2; /* points of a picture for one of the page */

async function savePicture(name, svg) {
  const image = new Image(), canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [SHARP * svg.clientWidth, SHARP * svg.clientHeight];
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(await styled(svg).text())}`;
  await image.decode();
  const paper = canvas.getContext("2d");
  paper.fillStyle = getComputedStyle(document.body).backgroundColor;
  paper.fillRect(0, 0, canvas.width, canvas.height);
  paper.drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => save(`${name}.png`, blob));
}

/* Buttons that save a chart; `drawing` returns what is drawn when one is pressed, `rows` its numbers, where it has any. */
export function saveCharts(place, name, drawing, rows = null) {
  const ways = [["SVG", saveDrawing], ["PNG", savePicture], ...(rows ? [["CSV", () => saveRows(`${name}.csv`, rows())]] : [])];
  for (const [text, how] of ways) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "save";
    button.textContent = text;
    button.setAttribute("aria-label", `Save as ${text}: ${name}`);
    button.addEventListener("click", () => how(name, drawing()));
    place.append(button);
  }
}
