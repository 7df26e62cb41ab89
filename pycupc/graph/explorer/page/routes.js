"use strict";
// The curve of each edge between boxes, around the boxes of other variables; as pycupc/graph/drawing/routes.py.

const BENDS = (() => {
  const single = [0, 0.1, -0.1, 0.2, -0.2, 0.3, -0.3, 0.45, -0.45, 0.7, -0.7, 1, -1];
  const cost = ([a, b]) => Math.abs(a) + Math.abs(b) + 0.3 * (a !== b);
  return single.flatMap((a) => single.map((b) => [a, b])).sort((p, q) => cost(p) - cost(q));
})();
const CLEAR = 3, AROUND = 8; // pixels between an edge and a box, and between the corners of a way around it and the box

/** Points on the way of each edge from outline to outline, Map edge -> [[x, y], ...]; boxes Map v -> [x, y, w, h]. */
function routesBetween(boxes, edges) {
  const all = [...boxes.entries()], corners = { list: null };
  const edge = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [, [x, y, w, h]] of all) {
    edge[0] = Math.min(edge[0], x - w / 2 - 10); edge[1] = Math.min(edge[1], y - h / 2 - 10);
    edge[2] = Math.max(edge[2], x + w / 2 + 10); edge[3] = Math.max(edge[3], y + h / 2 + 10);
  }
  return new Map(edges.map((k) => {
    const u = graph.tail[k], v = graph.head[k], a = boxes.get(u), b = boxes.get(v);
    const others = all.filter(([w]) => w !== u && w !== v).map(([, box]) => box);
    const curve = freeCurve(a, b, others, edge) || detour(a, b, all.map(([, box]) => box), others, corners);
    return [k, clipped(curve, a, b)];
  }));
}

function within([x, y], [cx, cy, w, h], clear) { return Math.abs(x - cx) < w / 2 + clear && Math.abs(y - cy) < h / 2 + clear; }

/** The cubic curve of the smallest curvatures that meets no other box and stays in the rectangle `edge`; null if none. */
function freeCurve(a, b, others, edge) {
  const steps = Math.max(24, Math.ceil(Math.hypot(b[0] - a[0], b[1] - a[1]) / 7));
  for (const bend of BENDS) {
    const points = cubic(a, b, bend, steps);
    if (points.every((p) => p[0] > edge[0] && p[0] < edge[2] && p[1] > edge[1] && p[1] < edge[3] && !others.some((box) => within(p, box, CLEAR)))) return points;
  }
  return null;
}

function cubic(a, b, [first, second], steps) {
  const ax = ((b[1] - a[1]) * 2) / 3, ay = ((a[0] - b[0]) * 2) / 3;
  const one = [a[0] + (b[0] - a[0]) / 3 + first * ax, a[1] + (b[1] - a[1]) / 3 + first * ay];
  const two = [b[0] + (a[0] - b[0]) / 3 + second * ax, b[1] + (a[1] - b[1]) / 3 + second * ay];
  return Array.from({ length: steps + 1 }, (_, i) => {
    const t = i / steps, s = 1 - t;
    return [0, 1].map((c) => s ** 3 * a[c] + 3 * s * s * t * one[c] + 3 * s * t * t * two[c] + t ** 3 * b[c]);
  });
}

/** The shortest way from a to b around the corners of boxes; `known` keeps the corners between two edges. */
function detour(a, b, all, others, known) {
  known.list ||= all.flatMap(([x, y, w, h]) => [[1, 1], [1, -1], [-1, 1], [-1, -1]].map(([i, j]) => [x + i * (w / 2 + AROUND), y + j * (h / 2 + AROUND)]));
  known.seen ||= new Map();
  const nodes = [a, ...known.list, b], goal = nodes.length - 1, length = nodes.map(() => Infinity), before = nodes.map(() => -1), done = new Set();
  const free = (i, j) => {
    if (i === 0 || j === goal) return !others.some((box) => meets(nodes[i], nodes[j], box, CLEAR));
    const key = Math.min(i, j) * 1000 + Math.max(i, j);
    if (!known.seen.has(key)) known.seen.set(key, !all.some((box) => meets(nodes[i], nodes[j], box, CLEAR)));
    return known.seen.get(key);
  };
  length[0] = 0;
  for (let i = 0; i !== goal;) {
    done.add(i);
    for (let j = 1; j <= goal; j++) {
      const reach = length[i] + Math.hypot(nodes[i][0] - nodes[j][0], nodes[i][1] - nodes[j][1]);
      if (!done.has(j) && reach < length[j] && free(i, j)) { length[j] = reach; before[j] = i; }
    }
    i = length.reduce((best, l, j) => (!done.has(j) && (best < 0 || l < length[best]) ? j : best), -1);
    if (length[i] === Infinity) return cubic(a, b, [0, 0], 40); // boxes that were dragged onto each other leave no way
  }
  const way = [];
  for (let i = goal; i >= 0; i = before[i]) way.unshift(nodes[i]);
  return rounded(way);
}

/** Whether the line from p to q meets a box. */
function meets(p, q, [x, y, w, h], clear) {
  let enter = 0, leave = 1;
  for (const [c, middle, half] of [[0, x, w / 2 + clear], [1, y, h / 2 + clear]]) {
    const step = q[c] - p[c] || 1e-9, one = (middle - half - p[c]) / step, two = (middle + half - p[c]) / step;
    enter = Math.max(enter, Math.min(one, two));
    leave = Math.min(leave, Math.max(one, two));
  }
  return enter < leave;
}

/** A way with its corners rounded towards the inside, in points at most 4 pixels apart. */
function rounded(way) {
  const points = [way[0]];
  for (let i = 1; i + 1 < way.length; i++) {
    const at = way[i], [from, to] = [way[i - 1], way[i + 1]].map((end) => {
      const part = Math.min(0.5, 16 / Math.max(1e-9, Math.hypot(end[0] - at[0], end[1] - at[1])));
      return [at[0] + part * (end[0] - at[0]), at[1] + part * (end[1] - at[1])];
    });
    for (let t = 0; t <= 1; t += 0.1) points.push([0, 1].map((c) => (1 - t) ** 2 * from[c] + 2 * t * (1 - t) * at[c] + t * t * to[c]));
  }
  points.push(way[way.length - 1]);
  return points.slice(1).reduce((all, p) => {
    const from = all[all.length - 1], n = Math.max(1, Math.ceil(Math.hypot(p[0] - from[0], p[1] - from[1]) / 4));
    for (let i = 1; i <= n; i++) all.push([from[0] + ((p[0] - from[0]) * i) / n, from[1] + ((p[1] - from[1]) * i) / n]);
    return all;
  }, [points[0]]);
}

/** The part of a curve outside the boxes of its ends, exactly up to their outlines. */
function clipped(points, a, b) {
  let first = points.findIndex((p) => !within(p, a, 1)), last = points.length - 1;
  while (last > 0 && within(points[last], b, 1)) last--;
  if (first < 1 || last < first) return [points[0], points[points.length - 1]];
  const touch = (inside, outside, box) => { // bisection on the one step that crosses the outline
    let [p, q] = [inside, outside];
    for (let i = 0; i < 12; i++) { const middle = [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2]; if (within(middle, box, 1)) p = middle; else q = middle; }
    return q;
  };
  return [touch(points[first - 1], points[first], a), ...points.slice(first, last + 1), touch(points[last + 1] || points[last], points[last], b)];
}
