/*
 * The topology: before a plan servers on a circle, and chords along strides that glide to others as ports change; of a plan its
 * network as the report draws it.
 */
import { drawChart } from "./charts/draw.js";

const MOST_CHORDS = 3000, GLIDE_MS = 450;

export class TopologyDrawing {
  constructor(canvas, network, caption) {
    this.canvas = canvas;
    this.network = network;
    this.wired = null;
    this.caption = caption;
    this.now = null;
    this.frame = 0;
    new ResizeObserver(() => this.now && this.draw(this.now)).observe(canvas.parentElement);
  }

  /* Show a fabric; chords of the one before glide to those of this one. */
  show(answer, fabric, plan) {
    const of = ["topoopt", "direct"].includes(fabric) && plan ? plan : null;
    this.canvas.hidden = Boolean(of);
    this.network.hidden = !of;
    this.showPlan(of);
    if (of) {
      this.caption.textContent = `The plan's own network (${of.wiring || "wired for the job"}).`;
      return;
    }
    const next = target(answer, fabric);
    this.caption.textContent = next.text;
    this.canvas.setAttribute("aria-label", next.text);
    const before = this.now;
    cancelAnimationFrame(this.frame);
    const glides = before && before.kind === next.kind && before.servers === next.servers && next.kind === "strides"
      && !matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!glides) {
      this.now = next;
      this.draw(next);
      return;
    }
    const began = performance.now();
    const step = (time) => {
      const part = Math.min((time - began) / GLIDE_MS, 1), eased = part * part * (3 - 2 * part);
      this.now = part < 1 ? between(before, next, eased) : next;
      this.draw(this.now);
      if (part < 1) this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
  }

  showPlan(plan) {
    if (!plan || this.wired?.plan === plan) return;
    this.wired = { plan, chart: drawChart(this.network, plan.topology) };
  }

  redraw() { if (!this.network.hidden) this.wired?.chart.redraw(); }

  draw(what) {
    const canvas = this.canvas, wide = Math.max(Math.min(canvas.parentElement.clientWidth - 34, 460), 120), sharp = devicePixelRatio || 1;
    canvas.style.height = `${wide}px`;
    canvas.style.width = `${wide}px`;
    canvas.width = canvas.height = Math.round(wide * sharp);
    const pen = canvas.getContext("2d"), css = getComputedStyle(document.documentElement);
    const color = (name) => css.getPropertyValue(name).trim();
    pen.scale(sharp, sharp);
    const middle = wide / 2, radius = wide / 2 - 22, n = what.servers;
    const at = (server) => {
      const angle = (2 * Math.PI * server) / n - Math.PI / 2;
      return [middle + radius * Math.cos(angle), middle + radius * Math.sin(angle)];
    };
    const line = (from, to) => { pen.moveTo(...from); pen.lineTo(...to); };
    pen.lineWidth = n > 256 ? 0.5 : 1;
    if (what.kind === "strides") {
      const every = Math.max(1, Math.ceil((n * what.strides.length) / MOST_CHORDS));
      what.strides.forEach(([stride, alpha], index) => {
        pen.globalAlpha = alpha * (n > 64 ? 0.35 : 0.6);
        pen.strokeStyle = color(`--c${index % 8}`);
        pen.beginPath();
        for (let server = 0; server < n; server += every) line(at(server), at(server + stride));
        pen.stroke();
        pen.globalAlpha = alpha;
        pen.lineWidth = 2.5;
        pen.beginPath();
        line(at(0), at(stride));
        line(at(0), at(-stride));
        pen.stroke();
        pen.lineWidth = n > 256 ? 0.5 : 1;
      });
    } else {
      const hubs = what.switches;
      const hub = (index) => hubs === 1 ? [middle, middle] : [
        middle + radius * 0.34 * Math.cos((2 * Math.PI * index) / hubs), middle + radius * 0.34 * Math.sin((2 * Math.PI * index) / hubs)];
      const every = Math.max(1, Math.ceil((n * hubs) / MOST_CHORDS));
      for (let index = 0; index < hubs; index += 1) {
        pen.globalAlpha = 0.4;
        pen.strokeStyle = color(`--c${index % 8}`);
        pen.beginPath();
        for (let server = 0; server < n; server += every) line(at(server), hub(index));
        pen.stroke();
        pen.globalAlpha = 1;
        pen.fillStyle = color("--ink");
        const [x, y] = hub(index);
        pen.fillRect(x - 6, y - 6, 12, 12);
      }
    }
    pen.globalAlpha = 1;
    pen.fillStyle = color("--ink");
    const size = Math.max(1, Math.min(4, 260 / n));
    for (let server = 0; server < n; server += 1) {
      pen.beginPath();
      pen.arc(...at(server), server === 0 ? size + 2 : size, 0, 2 * Math.PI);
      pen.fill();
    }
    pen.font = "12px system-ui, sans-serif";
    pen.fillStyle = color("--muted");
    pen.textAlign = "center";
    pen.fillText("server 0", middle, 11);
  }
}

function target(answer, fabric) {
  const { servers, strides, average_hops, degree } = answer.sketch;
  const count = `${servers.toLocaleString("en-US")} servers`;
  if (["topoopt", "direct", "expander"].includes(fabric)) {
    const how = fabric === "expander"
      ? "An expander joins servers at random; drawn are rings of as many ports."
      : strides.length ? `Rings along strides ${strides.join(", ")}; those of server 0 bold. A plan wires for the job.` : "One port joins servers in pairs.";
    return {
      kind: "strides", servers, strides: strides.map((stride) => [stride, 1]),
      text: `${count}, ${degree} ports each. ${how} Two servers are ${average_hops.toFixed(2)} hops apart on average at best.`,
    };
  }
  const switches = fabric === "rail" ? Math.min(degree, 16) : 1;
  const text = fabric === "rail"
    ? `${count}; port i of each goes to the switches of rail i, ${degree} in all. Every square stands for all switches of a rail.`
    : `${count} on one network of switches; the square stands for all of its layers.`;
  return { kind: "switches", servers, switches, text };
}

/* Chords on their way: the k-th stride glides to the k-th; one too many fades out, a new one fades in. */
function between(before, next, part) {
  const most = Math.max(before.strides.length, next.strides.length), strides = [];
  for (let index = 0; index < most; index += 1) {
    const from = before.strides[index], to = next.strides[index];
    if (from && to) strides.push([from[0] + (to[0] - from[0]) * part, from[1] + (to[1] - from[1]) * part]);
    else strides.push(to ? [to[0], part] : [from[0], from[1] * (1 - part)]);
  }
  return { ...next, strides };
}
