/* The topology on a circle: rings in colors, the links of the server that is pointed at, routes of a chosen pair. */
"use strict";
function drawCircle(figure, place, colors) {
  const { places, servers } = figure;
  const make = (name, attributes = {}, parent = null) => {
    const one = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
    if (parent) parent.append(one);
    return one;
  };
  const element = (name, text = "", parent = null) => {
    const one = document.createElement(name);
    one.textContent = text;
    if (parent) parent.append(one);
    return one;
  };
  const at = (node) => [places[node][0], -places[node][1]];
  const line = (nodes) => nodes.map((node, index) => `${index ? "L" : "M"}${at(node).join(" ")}`).join("");
  const said = (nodes) => nodes.map((node) => (node < servers ? node : `switch ${node - servers}`)).join(" → ");

  const net = element("div", "", null);
  net.className = "net";
  const svg = make("svg", { viewBox: "-1.18 -1.18 2.36 2.36", tabindex: 0, role: "application" }, net);
  svg.setAttribute("aria-label", `${servers} servers on a circle. Arrow keys move, Enter chooses, Escape clears.`);
  const side = element("div", "", net);
  side.className = "side";
  const legend = element("div", "", side);
  const controls = element("div", "", side);

  const paths = figure.rings.map((ring) => {
    const path = make("path", { class: "cable", d: ring.cables.map((pair) => line(pair)).join("") }, svg);
    const label = element("label", "", legend);
    const box = element("input", "", label);
    box.type = "checkbox";
    box.checked = true;
    box.addEventListener("change", () => { path.style.display = box.checked ? "" : "none"; });
    const swatch = element("span", "", label);
    swatch.className = "swatch";
    element("span", ring.name, label);
    return { path, swatch, ring };
  });
  const cables = figure.rings.reduce((sum, ring) => sum + ring.cables.length, 0);
  const [width, opacity] = cables <= 300 ? [1.3, 0.8] : cables <= 1200 ? [0.9, 0.6] : [0.5, 0.35];
  for (const { path } of paths) path.setAttribute("stroke-width", width);
  svg.style.setProperty("--opacity", opacity);
  const lit = make("g", {}, svg);
  const size = Math.max(0.009, Math.min(0.022, 0.9 / places.length));
  const dots = places.map((_, node) => {
    const [x, y] = at(node);
    return make("circle", { cx: x, cy: y, r: size, class: node < servers ? "node" : "node switch" }, svg);
  });
  const labels = new Map();
  const step = [1, 2, 4, 8, 16, 32, 64, 128].find((one) => servers / one <= 40) ?? 256;
  for (let server = 0; server < servers; server += step) {
    const [x, y] = at(server);
    const out = 1.045 + 0.015 * Math.max(1, String(server).length - 1) * (1 + Math.abs(x)); /* wide words stand further out at the sides */
    labels.set(server, make("text", { x: x * out, y: y * out }, svg)).get(server).textContent = server;
  }
  const over = make("text", { class: "over" }, svg);

  const pair = element("div", "", controls);
  pair.className = "pair";
  const inputs = ["from server", "to server"].map((name) => {
    const label = element("label", name, pair);
    const input = element("input", "", label);
    Object.assign(input, { type: "number", min: 0, max: servers - 1, step: 1 });
    input.addEventListener("input", () => {
      [state.from, state.to] = inputs.map((one) => (one.value === "" || +one.value >= servers || +one.value < 0 ? null : Math.floor(+one.value)));
      show();
    });
    return input;
  });
  const clear = element("button", "Clear", controls);
  clear.type = "button";
  const text = element("p", "", side);
  text.className = "said";
  text.setAttribute("aria-live", "polite");

  const state = { from: null, to: null, over: null };
  const out = Array.from({ length: places.length }, () => []);
  for (const [src, dst, ports, size_bytes] of figure.links) out[src].push([dst, ports, size_bytes]);

  function routes(from, to) {
    if (!figure.turned) return figure.routes[`${from}-${to}`] ?? null;
    const base = figure.routes[`0-${(to - from + servers) % servers}`];
    return base ? base.map(([weight, ...nodes]) => [weight, ...nodes.map((node) => (node + from) % servers)]) : null;
  }

  function showServer(server) {
    const links = out[server];
    for (const [dst] of links) {
      make("path", { class: "lit", d: line([server, dst]) }, lit);
      dots[dst].classList.add("near");
    }
    dots[server].classList.add("end");
    const total = links.reduce((sum, link) => sum + link[2], 0);
    element("b", server < servers ? `Server ${server}` : `Switch ${server - servers}`, text);
    const ends = links.map(([dst, ports]) => (dst < servers ? dst : `switch ${dst - servers}`) + (ports > 1 ? ` (${ports} ports)` : ""));
    element("span", ` is linked to ${ends.slice(0, 24).join(", ")}${ends.length > 24 ? ", …" : ""}${total ? ` and puts ${charts.short(total)}B on its links in an iteration` : ""}.${figure.turned || Object.keys(figure.routes).length ? " Click it to see its routes." : ""}`, text);
  }

  function showPair(from, to) {
    const found = routes(from, to);
    element("b", `${from} → ${to}`, text);
    dots[from].classList.add("end");
    dots[to].classList.add("end");
    if (!found) {
      element("span", ": this route is not on the page; the plan file has it.", text);
      return;
    }
    const hops = [...new Set(found.map((path) => path.length - 2))].sort((a, b) => a - b);
    element("span", `: ${hops.join(" or ")} link${hops.length === 1 && hops[0] === 1 ? "" : "s"}, ${found.length === 1 ? "one path" : `${found.length} paths`}`, text);
    for (const [weight, ...nodes] of found) {
      make("path", { class: "lit way", d: line(nodes), "stroke-opacity": 0.35 + 0.65 * weight }, lit);
      for (const node of nodes.slice(1, -1)) dots[node].classList.add("near");
      element("br", "", text);
      element("span", `${said(nodes)}${weight < 1 ? ` (${Math.round(weight * 100)} %)` : ""}`, text);
    }
  }

  function show() {
    lit.replaceChildren();
    text.replaceChildren();
    for (const dot of dots) dot.classList.remove("near", "end");
    over.textContent = "";
    for (const [server, label] of labels) label.style.visibility = server === state.over ? "hidden" : "";
    const to = state.to ?? (state.from !== null ? state.over : null);
    const asked = state.from !== null || state.over !== null;
    svg.classList.toggle("asked", asked);
    if (state.from !== null && to !== null && to !== state.from && to < servers && state.from < servers) {
      showPair(state.from, to);
    } else if (asked) {
      showServer(state.from ?? state.over);
    } else {
      text.textContent = "Point at a server to see its links. Click one and point at another to see how their bytes are forwarded.";
    }
    if (state.over !== null) {
      const [x, y] = at(state.over);
      over.setAttribute("x", x * 1.075);
      over.setAttribute("y", y * 1.075);
      over.textContent = state.over < servers ? state.over : "";
    }
  }

  function nearest(event) {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    let best = null, least = Math.max(0.05, Math.min(0.12, 2 / servers));
    places.forEach((_, node) => {
      const [x, y] = at(node);
      const distance = Math.hypot(x - point.x, y - point.y);
      if (distance < least) [best, least] = [node, distance];
    });
    return best;
  }

  function choose(node) {
    if (node === null || node === state.from) Object.assign(state, { from: null, to: null });
    else if (state.from === null) state.from = node;
    else state.to = state.to === node ? null : node;
    inputs[0].value = state.from !== null && state.from < servers ? state.from : "";
    inputs[1].value = state.to !== null && state.to < servers ? state.to : "";
    show();
  }

  svg.addEventListener("pointermove", (event) => {
    const node = nearest(event);
    if (node !== state.over) { state.over = node; show(); }
  });
  svg.addEventListener("pointerleave", () => { state.over = null; show(); });
  svg.addEventListener("click", (event) => choose(nearest(event)));
  svg.addEventListener("keydown", (event) => {
    const turn = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (turn) {
      state.over = ((state.over ?? (turn > 0 ? -1 : servers)) + turn + servers) % servers;
      show();
    } else if (event.key === "Enter" || event.key === " ") {
      choose(state.over);
    } else if (event.key === "Escape") {
      state.over = null;
      choose(null);
    } else {
      return;
    }
    event.preventDefault();
  });
  clear.addEventListener("click", () => choose(null));
  place.replaceChildren(net);
  show();

  return (theme) => {
    for (const { path, swatch, ring } of paths) {
      path.style.stroke = theme[ring.color] ?? ring.color;
      swatch.style.background = theme[ring.color] ?? ring.color;
    }
  };
}
