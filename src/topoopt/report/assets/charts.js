/* Draws the figures with plotly.js in the colors of the theme, and writes their numbers as a table when asked. */
"use strict";
const charts = (() => {
  const viridis = "Viridis";
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const units = [[1e15, " P"], [1e12, " T"], [1e9, " G"], [1e6, " M"], [1e3, " k"]];

  function short(value) {
    for (const [scale, unit] of units) {
      if (Math.abs(value) >= scale) return `${+(value / scale).toPrecision(4)}${unit}`;
    }
    return `${+value.toPrecision(4)}`;
  }

  /* A copy in which every color that has a dark one is that. */
  function recolored(value, colors) {
    if (typeof value === "string") return colors[value] ?? value;
    if (Array.isArray(value)) return typeof value[0] === "number" ? value : value.map((one) => recolored(one, colors));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, recolored(one, colors)]));
    }
    return value;
  }

  function heatmap(figure, dark) {
    const values = figure.data[0].values;
    const z = values.map((row) => row.map((v) => (v === null || v === 0 ? null : figure.log ? Math.log10(v) : v)));
    const text = values.map((row) => row.map((v) => (v === null ? "–" : short(v))));
    const bar = {
      orientation: "h", y: -0.16, yanchor: "top", thickness: 10, outlinewidth: 0, len: 0.8, nticks: 5,
      title: { text: figure.value_label, side: "top", font: { size: 13 } },
    };
    if (figure.log) {
      const all = z.flat().filter((v) => v !== null);
      const low = Math.ceil(Math.min(...all)), high = Math.floor(Math.max(...all));
      const ticks = [];
      for (let e = low; e <= high; e += 1) ticks.push(e);
      if (ticks.length >= 2) {
        bar.tickvals = ticks;
      } else {
        bar.tickvals = [Math.min(...all), Math.max(...all)];
      }
      bar.ticktext = bar.tickvals.map((e) => short(10 ** e));
    } else {
      bar.exponentformat = "SI";
    }
    const most = Math.max(...z.flat().filter((v) => v !== null));
    return [{
      type: "heatmap", z, text, colorscale: viridis, reversescale: !dark, colorbar: bar, hoverongaps: false, ...(figure.log ? {} : { zmin: 0, zmax: most }),
      hovertemplate: `%{y} → %{x}: %{text} ${figure.value_label}<extra></extra>`,
    }];
  }

  function layoutOf(figure, width) {
    const title = { font: { size: 13, color: css("--muted") }, standoff: 8 };
    const axis = { gridcolor: css("--grid"), zerolinecolor: css("--grid"), linecolor: css("--line"), tickcolor: css("--line") };
    const given = figure.layout;
    const many = figure.data.length > 1 || given.barmode === "stack"; /* what a bar is made of is always said */
    const straight = (one) => ({ ...axis, ...one, title: { ...one.title, ...title } });
    const axes = given.polar ? {
      polar: {
        bgcolor: "rgba(0,0,0,0)",
        angularaxis: { ...axis, ...given.polar.angularaxis },
        radialaxis: { ...axis, ...given.polar.radialaxis },
      },
    } : { xaxis: straight(given.xaxis), yaxis: straight(given.yaxis) };
    return {
      ...given,
      ...axes,
      width,
      height: figure.height + (figure.data.length > 4 ? 22 * Math.ceil((figure.data.length - 4) / 4) : 0),
      margin: given.polar ? { l: 48, r: 48, t: 24, b: 32 } : { l: 12, r: 16, t: 12, b: 12 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: css("--ink") },
      showlegend: many,
      legend: { orientation: "h", traceorder: "normal", x: 0, xanchor: "left", ...(given.polar ? { y: -0.1, yanchor: "top" } : { y: 1.02, yanchor: "bottom" }), font: { size: 12.5 } },
      hoverlabel: { bgcolor: css("--card"), bordercolor: css("--line"), font: { color: css("--ink"), size: 13 }, align: "left" },
    };
  }

  function draw(figure, place, colors) {
    const data = figure.data[0].type === "heatmap" ? heatmap(figure, colors !== null && Object.keys(colors).length > 0) : recolored(figure.data, colors);
    const config = {
      displaylogo: false, displayModeBar: false, plotlyServerURL: "",
    };
    Plotly.newPlot(place, data, layoutOf(figure, place.clientWidth), config);
  }

  /* The points of a figure as rows of text, the header first. */
  function rows(figure) {
    const found = [["series", "x", "y"]];
    for (const trace of figure.data) {
      const x = trace.x ?? [];
      x.forEach((value, index) => {
        const from = trace.base ? trace.base[index] : null;
        found.push(from === null
          ? [trace.name, String(value ?? "–"), String((trace.y ?? [])[index] ?? "–")]
          : [trace.text[index], String(from), String(from + value)]);
      });
    }
    if (figure.data.some((trace) => trace.base)) found[0] = ["bar", "from", "to"];
    return found;
  }

  function numbers(figure, place) {
    const all = rows(figure);
    if (all.length < 2 || all.length > 1500) return;
    const details = document.createElement("details");
    details.className = "numbers";
    details.innerHTML = "<summary>The numbers</summary>";
    details.addEventListener("toggle", () => {
      if (details.childElementCount > 1) return;
      const table = document.createElement("table");
      const plain = document.createElement("textarea");
      all.forEach((row, index) => {
        const line = table.insertRow();
        row.forEach((cell) => {
          const one = document.createElement(index ? "td" : "th");
          plain.innerHTML = cell; /* a text area reads entities and never tags */
          one.textContent = plain.value;
          line.append(one);
        });
      });
      const scroll = document.createElement("div");
      scroll.className = "scroll";
      scroll.tabIndex = 0;
      scroll.append(table);
      details.append(scroll);
    });
    place.after(details);
  }

  function save(figure, place) {
    Plotly.downloadImage(place, { format: "svg", filename: figure.name, width: place.clientWidth, height: place.clientHeight });
  }

  /* A drawing of the page's own, with the styles that it has there. */
  function saveDrawing(name, svg) {
    const copy = svg.cloneNode(true);
    const shown = svg.querySelectorAll("*");
    copy.querySelectorAll("*").forEach((one, index) => {
      const style = getComputedStyle(shown[index]);
      for (const key of ["fill", "stroke", "stroke-width", "opacity", "font", "text-anchor", "dominant-baseline", "vector-effect", "display"]) {
        one.style.setProperty(key, style.getPropertyValue(key));
      }
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

  return { draw, numbers, save, saveDrawing, short };
})();
