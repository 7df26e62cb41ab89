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
  const obstacles = flat(all.map(([, box]) => box));
  return new Map(edges.map((k) => {
    const u = graph.tail[k], v = graph.head[k], a = boxes.get(u), b = boxes.get(v);
    const others = flat(all.filter(([w]) => w !== u && w !== v).map(([, box]) => box));
    const curve = freeCurve(a, b, others, edge) || detour(a, b, obstacles, others, corners);
    return [k, clipped(curve, a, b)];
  }));
}

/** Boxes one after the other: centre, and half of the sides with the room around them. */
function flat(boxes) {
  return Float64Array.from(boxes.flatMap(([x, y, w, h]) => [x, y, w / 2 + CLEAR, h / 2 + CLEAR]));
}

function within([x, y], [cx, cy, w, h], clear) { return Math.abs(x - cx) < w / 2 + clear && Math.abs(y - cy) < h / 2 + clear; }

/** The cubic curve of the smallest curvatures that meets no other box and stays in the rectangle `edge`; null if none. */
function freeCurve(a, b, others, edge) {
  const steps = Math.max(24, Math.ceil(Math.hypot(b[0] - a[0], b[1] - a[1]) / 7));
  let last = 0; // the box that was met last is likely to be met again
  for (const bend of BENDS) {
    const [one, two] = handles(a, b, bend);
    let i = 0;
    for (; i <= steps; i++) {
      const t = i / steps, x = onCurve(t, a, one, two, b, 0), y = onCurve(t, a, one, two, b, 1);
      if (!(x > edge[0] && x < edge[2] && y > edge[1] && y < edge[3])) break;
      const met = boxAt(others, x, y, last);
      if (met >= 0) { last = met; break; }
    }
    if (i > steps) return cubic(a, b, bend, steps);
  }
  return null;
}

/** Where in `boxes` the box is that holds a point, -1 if none; the one at `first` is tried first. */
function boxAt(boxes, x, y, first) {
  if (boxes.length && Math.abs(x - boxes[first]) < boxes[first + 2] && Math.abs(y - boxes[first + 1]) < boxes[first + 3]) return first;
  for (let k = 0; k < boxes.length; k += 4) {
    if (Math.abs(x - boxes[k]) < boxes[k + 2] && Math.abs(y - boxes[k + 1]) < boxes[k + 3]) return k;
  }
  return -1;
}

/** The inner two of the four points that make a curve from a to b. */
function handles(a, b, [first, second]) {
  const ax = ((b[1] - a[1]) * 2) / 3, ay = ((a[0] - b[0]) * 2) / 3;
  return [[a[0] + (b[0] - a[0]) / 3 + first * ax, a[1] + (b[1] - a[1]) / 3 + first * ay],
    [b[0] + (a[0] - b[0]) / 3 + second * ax, b[1] + (a[1] - b[1]) / 3 + second * ay]];
}

function onCurve(t, a, one, two, b, c) {
  const s = 1 - t;
  return s ** 3 * a[c] + 3 * s * s * t * one[c] + 3 * s * t * t * two[c] + t ** 3 * b[c];
}

function cubic(a, b, bend, steps) {
  const [one, two] = handles(a, b, bend);
  return Array.from({ length: steps + 1 }, (_, i) => [0, 1].map((c) => onCurve(i / steps, a, one, two, b, c)));
}

/** The shortest way from a to b around the corners of boxes; `known` keeps the corners between two edges. */
function detour(a, b, all, others, known) {
  if (!known.list) {
    const more = AROUND - CLEAR, corners = [[1, 1], [1, -1], [-1, 1], [-1, -1]];
    known.list = Array.from({ length: all.length }, (_, k) => [all[k - (k % 4)] + corners[k % 4][0] * (all[k - (k % 4) + 2] + more), all[k - (k % 4) + 1] + corners[k % 4][1] * (all[k - (k % 4) + 3] + more)]);
    known.seen = new Int8Array((known.list.length + 2) ** 2); // of two corners: 1 if a line joins them, -1 if it meets a box
  }
  const nodes = [a, ...known.list, b], goal = nodes.length - 1, length = new Float64Array(nodes.length).fill(Infinity);
  const before = new Int32Array(nodes.length).fill(-1), done = new Uint8Array(nodes.length);
  const free = (i, j) => {
    if (i === 0 || j === goal) return !meetsAny(nodes[i], nodes[j], others);
    const key = Math.min(i, j) * nodes.length + Math.max(i, j);
    return (known.seen[key] ||= meetsAny(nodes[i], nodes[j], all) ? -1 : 1) > 0;
  };
  length[0] = 0;
  for (let i = 0; i !== goal;) {
    done[i] = 1;
    let next = -1;
    for (let j = 1; j <= goal; j++) {
      if (done[j]) continue;
      const reach = length[i] + Math.hypot(nodes[i][0] - nodes[j][0], nodes[i][1] - nodes[j][1]);
      if (reach < length[j] && free(i, j)) { length[j] = reach; before[j] = i; }
      if (next < 0 || length[j] < length[next]) next = j;
    }
    i = next;
    if (length[i] === Infinity) return cubic(a, b, [0, 0], 40); // boxes that were dragged onto each other leave no way
  }
  const way = [];
  for (let i = goal; i >= 0; i = before[i]) way.unshift(nodes[i]);
  return rounded(way);
}

/** Whether the line from p to q meets one of the boxes. */
function meetsAny(p, q, boxes) {
  const across = q[0] - p[0] || 1e-9, down = q[1] - p[1] || 1e-9;
  for (let k = 0; k < boxes.length; k += 4) {
    const left = (boxes[k] - boxes[k + 2] - p[0]) / across, right = (boxes[k] + boxes[k + 2] - p[0]) / across;
    const top = (boxes[k + 1] - boxes[k + 3] - p[1]) / down, bottom = (boxes[k + 1] + boxes[k + 3] - p[1]) / down;
    const enter = Math.max(0, Math.min(left, right), Math.min(top, bottom));
    if (enter < Math.min(1, Math.max(left, right), Math.max(top, bottom))) return true;
  }
  return false;
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
