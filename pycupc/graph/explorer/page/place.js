"use strict";
// Positions of a neighbourhood, and which labels are drawn where.

const MAX_STRESS = 900; // variables; larger selections keep their places in the whole graph

/** Positions of what the filters leave of the whole graph; they start from those in it. */
function placeAgain(nodes, edges) {
  let length = 0;
  for (const k of edges) length += Math.hypot(graph.x[graph.tail[k]] - graph.x[graph.head[k]], graph.y[graph.tail[k]] - graph.y[graph.head[k]]);
  const scale = edges.length / (length || 1);
  return placeNodes(nodes, edges, new Map(nodes.map((v) => [v, [scale * graph.x[v], scale * graph.y[v]]])), new Map());
}

/**
 * Positions of some nodes so that distances follow the lengths of paths: stress majorisation, one node at a time.
 * `known` holds positions that nodes start from (Map node -> [x, y]); new nodes start around their parent.
 */
function placeNodes(nodes, edges, known, parent) {
  const n = nodes.length, local = new Map(nodes.map((v, i) => [v, i]));
  const near = nodes.map(() => []);
  for (const k of edges) {
    const i = local.get(graph.tail[k]), j = local.get(graph.head[k]);
    near[i].push(j);
    near[j].push(i);
  }
  const x = new Float64Array(n), y = new Float64Array(n);
  nodes.forEach((v, i) => {
    const own = known.get(v), from = known.get(parent.get(v)) || [0, 0];
    const turn = i * 2.399963; // golden angle: new neighbours spread evenly around their parent
    [x[i], y[i]] = own || [from[0] + 0.9 * Math.cos(turn), from[1] + 0.9 * Math.sin(turn)];
  });
  if (n > MAX_STRESS) {
    return new Map(nodes.map((v) => [v, [graph.x[v], graph.y[v]]]));
  }
  const far = 1 + Math.ceil(Math.sqrt(n));
  const distance = nodes.map((_, i) => stepsFrom(i, near, far));
  const rounds = Math.max(15, Math.min(150, Math.round(1.5e7 / (n * n + 1))));
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < n; i++) {
      let sx = 0, sy = 0, total = 0;
      for (let j = 0; j < n; j++) {
        if (i === j) continue;
        const dx = x[i] - x[j], dy = y[i] - y[j];
        const d = distance[i][j], w = 1 / (d * d), ratio = d / Math.max(1e-6, Math.hypot(dx, dy));
        sx += w * (x[j] + ratio * dx);
        sy += w * (y[j] + ratio * dy);
        total += w;
      }
      if (total) { x[i] = sx / total; y[i] = sy / total; }
    }
  }
  return new Map(nodes.map((v, i) => [v, [x[i], y[i]]]));
}

/** Edges on the way from node i to each other node; `far` where there is no way. */
function stepsFrom(i, near, far) {
  const steps = new Float32Array(near.length).fill(far);
  steps[i] = 0;
  let ring = [i];
  for (let d = 1; ring.length; d++) {
    const next = [];
    for (const u of ring) for (const v of near[u]) if (steps[v] > d && v !== i) { steps[v] = d; next.push(v); }
    ring = next;
  }
  return steps;
}

/** A label on one line of bounded length, as the pictures have it. */
function shortLabel(text) {
  const line = Array.from(text.replace(/\s+/g, " ").trim());
  return line.length <= 28 ? line.join("") : line.slice(0, 13).join("") + "…" + line.slice(-13).join("");
}

/** A grid of rectangles that are taken: labels go where nothing is. */
class Taken {
  constructor() { this.cells = new Map(); }
  * around(box) {
    for (let i = Math.floor(box[0] / 64); i <= Math.floor(box[2] / 64); i++) {
      for (let j = Math.floor(box[1] / 64); j <= Math.floor(box[3] / 64); j++) yield i * 100003 + j;
    }
  }
  free(box) {
    for (const cell of this.around(box)) {
      for (const b of this.cells.get(cell) || []) {
        if (b[0] < box[2] && b[2] > box[0] && b[1] < box[3] && b[3] > box[1]) return false;
      }
    }
    return true;
  }
  add(box) {
    for (const cell of this.around(box)) {
      if (!this.cells.has(cell)) this.cells.set(cell, []);
      this.cells.get(cell).push(box);
    }
  }
}

const CELL = 5; // pixels

/** The cells of a grid that lines run through. */
function cellsOf(lines) {
  const cells = new Set();
  for (const points of lines) {
    for (let i = 1; i < points.length; i++) {
      const [p, q] = [points[i - 1], points[i]], n = Math.min(2000, Math.ceil(Math.hypot(q[0] - p[0], q[1] - p[1]) / 3));
      for (let t = 0; t <= n; t++) cells.add(Math.floor((p[0] + ((q[0] - p[0]) * t) / (n || 1)) / CELL) * 100003 + Math.floor((p[1] + ((q[1] - p[1]) * t) / (n || 1)) / CELL));
    }
  }
  return cells;
}

function coversInk(box, cells) {
  for (let i = Math.floor(box[0] / CELL); i <= Math.floor(box[2] / CELL); i++) {
    for (let j = Math.floor(box[1] / CELL); j <= Math.floor(box[3] / CELL); j++) if (cells.has(i * 100003 + j)) return true;
  }
  return false;
}

/**
 * Where labels go. `dots` are [{v, x, y, radius}] in order of importance, in pixels; `width` measures a text.
 * A label that fits nowhere beside its dot, within `size` and off the boxes `heads`, is left out, unless its dot is in
 * `always`. A label covers one of the `lines`, [[x, y], ...] each, only if each free place does. The labels of the first
 * dots, `hubs` in number, may also lie over the heads and the dots of others.
 */
function placeLabels(dots, width, always, size, heads, lines, hubs = 0) {
  const taken = new Taken(), placed = [], inked = cellsOf(lines);
  const addDots = (some) => { for (const d of some) taken.add([d.x - d.radius, d.y - d.radius, d.x + d.radius, d.y + d.radius]); };
  addDots(dots.slice(0, hubs));
  for (const [i, d] of dots.entries()) {
    if (i === hubs) {
      for (const box of heads) taken.add(box);
      addDots(dots.slice(hubs));
    }
    const text = shortLabel(name(d.v)), w = width(text) + 4, h = 15;
    const boxes = [0, 10, 20].flatMap((away) => { // the farther ones lie beyond the arrowheads at this dot
      const gap = d.radius + 2 + away, near = 0.75 * (d.radius + away);
      return [
        [d.x + gap, d.y - h / 2], [d.x - gap - w, d.y - h / 2], [d.x - w / 2, d.y - gap - h], [d.x - w / 2, d.y + gap],
        [d.x + near, d.y - near - h], [d.x + near, d.y + near], [d.x - near - w, d.y - near - h], [d.x - near - w, d.y + near],
      ];
    }).map(([x, y]) => [x, y, x + w, y + h]);
    const free = boxes.filter((b) => b[0] >= 0 && b[2] <= size.width && b[1] >= 0 && b[3] <= size.height && taken.free(b));
    const box = free.find((b) => !coversInk(b, inked)) || free[0] || (always.has(d.v) ? boxes[0] : null);
    if (!box) continue;
    taken.add(box);
    placed.push({ v: d.v, text, x: box[0] + 2, y: (box[1] + box[3]) / 2, width: w - 4 });
  }
  return placed;
}
