"use strict";
// Boxes in layers, arrows pointing down, for small graphs; the algorithm of pycupc/graph/drawing/layered.py and layout.py.

const GAP = { beside: 26, below: 40, components: 26 }; // pixels between boxes, layers, and components
const TIGHT = { beside: 17, below: 26, components: 17 }; // in a narrow picture; edges need twice `AROUND` between boxes
const SWEEPS = 30, ONE_WAY = 12; // how often the boxes of all layers are moved, at first only by the layers before

/**
 * Centres of boxes, Map node -> [x, y]; `size` gives the [width, height] of a node, `gap` the distances, `aspect` is the width of a layer
 * relative to the side of a square that holds all boxes, `landscape` the wanted width of all components per height.
 */
function layeredPlaces(nodes, edges, size, gap, aspect, landscape) {
  const near = new Map(nodes.map((v) => [v, []]));
  for (const k of edges) { near.get(graph.tail[k]).push(k); near.get(graph.head[k]).push(k); }
  const left = new Set(nodes), parts = [];
  for (const v of nodes) {
    if (!left.delete(v)) continue;
    const part = [v];
    for (const u of part) for (const k of near.get(u)) if (left.delete(other(k, u))) part.push(other(k, u));
    parts.push(part.sort((a, b) => a - b));
  }
  parts.sort((a, b) => b.length - a.length || a[0] - b[0]);
  const places = new Map(), taken = [];
  for (const part of parts) {
    const own = layersOf(part, near, size, gap, aspect), bands = bandsOf(part, own, near, size);
    const [dx, dy] = freeCorner(bands, taken, gap.components, landscape);
    for (const b of bands) taken.push([b[0] + dx, b[1] + dy, b[2] + dx, b[3] + dy]);
    for (const v of part) places.set(v, [own.get(v)[0] + dx, own.get(v)[1] + dy]);
  }
  return places;
}

/** The boxes of one component in layers; the first box of the first layer is anywhere. */
function layersOf(part, near, size, gap, aspect) {
  const at = new Map(part.map((v, i) => [v, i])), n = part.length;
  const out = part.map(() => []), into = part.map(() => []), beside = part.map(() => []);
  part.forEach((v, i) => {
    for (const k of near.get(v)) {
      const j = at.get(other(k, v));
      beside[i].push(j);
      if (graph.kind[k] === 0 && graph.tail[k] === v) { out[i].push(j); into[j].push(i); }
    }
  });
  const order = sequenceOf(out, into), place = new Int32Array(n);
  order.forEach((i, position) => { place[i] = position; });
  const width = part.map((v) => size(v)[0] + gap.beside), height = part.map((v) => size(v)[1] + gap.below);
  const limit = aspect * Math.sqrt(width.reduce((sum, w, i) => sum + w * height[i], 0));
  const rank = ranksOf(beside, order, place, width, limit);
  const x = across(rank, beside, width), rows = Math.max(...rank) + 1;
  const high = Array.from({ length: rows }, (_, r) => Math.max(...height.filter((_, i) => rank[i] === r)));
  const top = high.map((_, r) => high.slice(0, r).reduce((sum, h) => sum + h, 0));
  return new Map(part.map((v, i) => [v, [x[i], top[rank[i]] + high[rank[i]] / 2]]));
}

/** All nodes, so that few arrows point backward (Eades, Lin and Smyth, 1993). */
function sequenceOf(out, into) {
  const first = [], last = [], left = new Set(out.keys());
  while (left.size) {
    const count = (list) => list.reduce((sum, j) => sum + left.has(j), 0);
    const nodes = [...left], ends = nodes.filter((i) => !count(out[i]));
    let chosen = ends[ends.length - 1];
    if (chosen !== undefined) last.push(chosen);
    else {
      const value = (i) => (count(into[i]) ? count(out[i]) - count(into[i]) : out.length);
      chosen = nodes.reduce((best, i) => (value(i) > value(best) ? i : best));
      first.push(chosen);
    }
    left.delete(chosen);
  }
  return first.concat(last.reverse());
}

/** The layer of each node: below the neighbours before it, the highest with room; sources just above a neighbour. */
function ranksOf(beside, order, place, width, limit) {
  const rank = new Int32Array(order.length), used = new Map();
  const put = (i, r, step) => {
    while ((used.get(r) || 0) > 0 && used.get(r) + width[i] > limit) r += step;
    used.set(r, (used.get(r) || 0) + width[i]);
    rank[i] = r;
  };
  const before = (i) => beside[i].filter((j) => place[j] < place[i]), after = (i) => beside[i].filter((j) => place[j] > place[i]);
  for (const i of order) put(i, Math.max(-1, ...before(i).map((j) => rank[j])) + 1, 1);
  for (const i of order.slice().reverse()) {
    if (before(i).length || !after(i).length) continue;
    const lowest = Math.min(...after(i).map((j) => rank[j])) - 1;
    if (lowest > rank[i]) { used.set(rank[i], used.get(rank[i]) - width[i]); put(i, lowest, -1); }
  }
  const there = [...new Set(rank)].sort((a, b) => a - b);
  return rank.map((r) => there.indexOf(r));
}

/** Abscissae: layer by layer each node is drawn to its neighbours, as close as the widths allow. */
function across(rank, beside, width) {
  const x = new Float64Array(rank.length), rows = Array.from({ length: Math.max(...rank) + 1 }, () => []);
  rank.forEach((r, i) => rows[r].push(i));
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 1;
    for (const row of down ? rows : rows.slice().reverse()) {
      const wanted = row.map((i) => {
        let sum = 0, total = 0;
        for (const j of beside[i]) {
          const known = sweep >= ONE_WAY || rank[j] < rank[i] === down, w = (known ? 1 : 1e-3) / (1 + Math.abs(rank[i] - rank[j]));
          sum += w * x[j];
          total += w;
        }
        return { i, to: total ? sum / total : x[i], weight: total || 1 };
      }).sort((a, b) => a.to - b.to || x[a.i] - x[b.i] || a.i - b.i);
      let offset = 0;
      for (const w of wanted) { w.offset = offset + width[w.i] / 2; offset += width[w.i]; w.to -= w.offset; }
      const blocks = []; // isotonic regression: neighbours that are out of order share their mean
      for (const w of wanted) {
        blocks.push({ value: w.to, weight: w.weight, count: 1 });
        while (blocks.length > 1 && blocks[blocks.length - 2].value > blocks[blocks.length - 1].value) {
          const b = blocks.pop(), a = blocks[blocks.length - 1];
          a.value = (a.value * a.weight + b.value * b.weight) / (a.weight + b.weight);
          a.weight += b.weight;
          a.count += b.count;
        }
      }
      wanted.forEach((w) => { while (!blocks[0].count) blocks.shift(); blocks[0].count--; x[w.i] = blocks[0].value + w.offset; });
    }
  }
  return x;
}

/** Rectangles [left, top, right, bottom] of a component: of each layer, and of the edges below it. */
function bandsOf(part, places, near, size) {
  const rows = new Map();
  for (const v of part) { const y = places.get(v)[1]; if (!rows.has(y)) rows.set(y, []); rows.get(y).push(v); }
  const box = (v) => { const [x, y] = places.get(v), [w, h] = size(v); return [x - w / 2, y - h / 2, x + w / 2, y + h / 2]; };
  const around = (boxes) => [0, 1].map((c) => Math.min(...boxes.map((b) => b[c]))).concat([2, 3].map((c) => Math.max(...boxes.map((b) => b[c]))));
  const bands = [], sorted = [...rows.keys()].sort((a, b) => a - b);
  sorted.forEach((y, r) => {
    const own = around(rows.get(y).map(box));
    bands.push(own);
    if (r + 1 === sorted.length) return;
    const below = rows.get(sorted[r + 1]), downward = rows.get(y).filter((v) => near.get(v).some((k) => places.get(other(k, v))[1] > y));
    const gap = around([...below, ...downward].map(box));
    bands.push([gap[0], own[3], gap[2], around(below.map(box))[1]]);
  });
  return bands;
}

/** How far to move a component so that it lies in a gap beside or below the rectangles that are taken. */
function freeCorner(bands, taken, gap, landscape) {
  const low = [0, 1].map((c) => Math.min(...bands.map((b) => b[c]))), high = [2, 3].map((c) => Math.max(...bands.map((b) => b[c])));
  const lefts = [0, ...taken.map((t) => t[2] + gap)], tops = [0, ...taken.map((t) => t[3] + gap)];
  let best = null, least = Infinity;
  for (const y of tops) {
    for (const x of lefts) {
      const dx = x - low[0], dy = y - low[1], g = gap - 0.01;
      const width = Math.max(x + high[0] - low[0], ...taken.map((t) => t[2])), height = Math.max(y + high[1] - low[1], ...taken.map((t) => t[3]));
      const cost = Math.max(width / landscape, height) + 1e-3 * (width + height);
      if (cost >= least) continue;
      if (bands.some((b) => taken.some((t) => b[0] + dx < t[2] + g && b[2] + dx > t[0] - g && b[1] + dy < t[3] + g && b[3] + dy > t[1] - g))) continue;
      best = [dx, dy];
      least = cost;
    }
  }
  return best;
}
