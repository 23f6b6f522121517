/* What is said beside a drawn network: its rings, the links of a server, the routes of a chosen pair. */
import { colorOf, element, shape } from "./svg.js";
import { said } from "./units.js";

const HINT = "Point at a server to see its links. Click one and point at another to see how their bytes are forwarded.";

/*
 * A network's state (which servers are chosen, which one is under the pointer) and what is written of it. After each
 * change `paint` is called with the links to show, [from, to, weight or null], the servers near them and those at their ends.
 */
export function networkPanel(side, figure, names, paint, hide) {
  const { servers } = figure, nodes = figure.nodes;
  const rings = element("div", "", side, "rings");
  for (const [index, ring] of names.entries()) {
    const label = element("label", "", rings);
    const box = element("input", "", label);
    Object.assign(box, { type: "checkbox", checked: true });
    box.addEventListener("change", () => hide(index, !box.checked));
    element("span", "", label, "swatch").style.background = colorOf(ring.color);
    element("span", ring.name, label);
  }
  const controls = element("div", "", side);
  const state = { from: null, to: null, over: null };
  const pair = element("div", "", controls, "pair");
  const inputs = ["from server", "to server"].map((name) => {
    const input = element("input", "", element("label", name, pair));
    Object.assign(input, { type: "number", min: 0, max: servers - 1, step: 1 });
    input.addEventListener("input", () => {
      [state.from, state.to] = inputs.map((one) => (one.value === "" || +one.value >= servers || +one.value < 0 ? null : Math.floor(+one.value)));
      show();
    });
    return input;
  });
  const clear = element("button", "Clear", controls);
  clear.type = "button";
  const text = element("p", "", side, "said");
  text.setAttribute("aria-live", "polite");

  const out = Array.from({ length: nodes }, () => []);
  for (const [src, dst, ports, size_bytes] of figure.links) out[src].push([dst, ports, size_bytes]);
  const called = (node) => (node < servers ? node : `switch ${node - servers}`);

  /* The paths of a pair, [weight, node, node, …]; those of server 0 serve all where routes are turned. */
  function routes(from, to) {
    const turn = figure.turned ? from : 0;
    const text = figure.routes[from - turn]?.[figure.turned ? (to - from + servers) % servers : to];
    return text === undefined ? null : text.split(";").map((path) => {
      const [weight, ...between] = path.split(" ").map((word, index) => parseInt(word, index ? 36 : 10));
      return [weight / 100, from, ...between.map((node) => (turn ? (node + turn) % servers : node)), to];
    });
  }

  function showServer(server) {
    const links = out[server];
    const total = links.reduce((sum, link) => sum + link[2], 0);
    element("b", server < servers ? `Server ${server}` : `Switch ${server - servers}`, text);
    const ends = links.map(([dst, ports]) => called(dst) + (ports > 1 ? ` (${ports} ports)` : ""));
    element("span", ` is linked to ${ends.slice(0, 24).join(", ")}${ends.length > 24 ? ", …" : ""}${total ? ` and puts ${said(total, "B")} on its links in an iteration` : ""}.${figure.turned || Object.keys(figure.routes).length ? " Click it to see its routes." : ""}`, text);
    return { lit: links.map(([dst]) => [server, dst, null]), near: links.map(([dst]) => dst), ends: [server] };
  }

  function showPair(from, to) {
    const found = routes(from, to), shown = { lit: [], near: [], ends: [from, to] };
    element("b", `${from} → ${to}`, text);
    if (!found) {
      element("span", ": this route is not on the page; the plan file has it.", text);
      return shown;
    }
    const hops = [...new Set(found.map((path) => path.length - 2))].sort((a, b) => a - b);
    element("span", `: ${hops.join(" or ")} link${hops.length === 1 && hops[0] === 1 ? "" : "s"}, ${found.length === 1 ? "one path" : `${found.length} paths`}`, text);
    for (const [weight, ...path] of found) {
      for (let hop = 1; hop < path.length; hop += 1) shown.lit.push([path[hop - 1], path[hop], weight, hop === 1]);
      shown.near.push(...path.slice(1, -1));
      element("br", "", text);
      element("span", `${path.map(called).join(" → ")}${weight < 1 ? ` (${Math.round(weight * 100)}%)` : ""}`, text);
    }
    const rest = 100 - found.reduce((sum, [weight]) => sum + Math.round(weight * 100), 0);
    if (rest >= 2) {
      element("br", "", text);
      element("span", `and by smaller shares ${rest}%`, text);
    }
    return shown;
  }

  function show() {
    text.replaceChildren();
    const { from, over } = state, to = state.to ?? (from !== null ? over : null);
    let shown = { lit: [], near: [], ends: [] };
    if (from !== null && to !== null && to !== from && to < servers && from < servers) shown = showPair(from, to);
    else if (from !== null || over !== null) shown = showServer(from ?? over);
    else text.textContent = HINT;
    paint({ ...shown, over, asked: from !== null || over !== null });
  }

  function choose(node) {
    if (node === null || node === state.from) Object.assign(state, { from: null, to: null });
    else if (state.from === null) state.from = node;
    else state.to = state.to === node ? null : node;
    inputs[0].value = state.from !== null && state.from < servers ? state.from : "";
    inputs[1].value = state.to !== null && state.to < servers ? state.to : "";
    show();
  }

  function pointAt(node) {
    if (node === state.over) return;
    state.over = node;
    show();
  }

  clear.addEventListener("click", () => choose(null));

  /* The pointer and the keys of a drawing: `find(event)` gives the node under the pointer, or null. */
  function listen(drawing, find) {
    drawing.addEventListener("pointermove", (event) => pointAt(find(event)));
    drawing.addEventListener("pointerleave", () => pointAt(null));
    drawing.addEventListener("click", (event) => choose(find(event)));
    drawing.addEventListener("keydown", (event) => {
      const turn = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (turn) {
        pointAt(((state.over ?? (turn > 0 ? -1 : servers)) + turn + servers) % servers);
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
  }
  return { listen, show };
}

/* An empty drawing beside which there is a panel. */
export function networkDrawing(place, className, label) {
  const net = element("div", "", place, className);
  const svg = shape("svg", { tabindex: 0, role: "application", "aria-label": label }, net);
  return { net, svg };
}
