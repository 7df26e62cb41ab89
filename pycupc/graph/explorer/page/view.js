"use strict";
// The picture: draws what state.js says is shown, and finds what lies under the pointer.

// width of thin, medium and thick lines, relative to the width of their kind
const THICKNESS = [0.6, 1, 1.7];

// more edges of a kind than can be told apart are drawn without dashes, which take most of the time
const MANY = 6000;
// The neighbours that make a variable a hub, and the number of hubs that are named wherever they lie.
const HUB = 5, HUBS = 12;

const view = { canvas: document.getElementById("picture"), scale: 1, stretch: 1, fitted: 1, x: 0, y: 0, width: 0, height: 0, labelled: [], heads: [] };

/** Where a variable lies, whatever part of the picture is in sight. */
function position(v) {
  if (boxed.on) return boxed.places.get(v);
  const places = state.near ? state.places : state.filtered;
  return places ? places.get(v) : [graph.x[v], graph.y[v]];
}

function place(v) {
  const at = position(v);
  return [at[0] * view.scale * view.stretch + view.x, at[1] * view.scale + view.y];
}

function radius(v) {
  const weight = Math.sqrt(graph.degree[v]);
  // in the whole graph dots take a small part of the room, and grow as one comes closer
  const room = (0.13 * Math.sqrt((view.width * view.height) / (state.nodes.length + 1)) * view.scale) / view.fitted;
  const size = state.near ? 6 + 0.8 * weight : Math.min(7, Math.max(1.1, room * (0.7 + 0.18 * weight)));
  return v === state.node ? size + 2 : size;
}

/** Show everything that is drawn, with room for labels, and stretched to fill the picture, at most twofold. */
function fit() {
  resize();
  if (boxed.on) return fitBoxes();
  let low = [Infinity, Infinity], high = [-Infinity, -Infinity];
  for (const v of state.nodes) {
    const at = position(v);
    for (const c of [0, 1]) { low[c] = Math.min(low[c], at[c]); high[c] = Math.max(high[c], at[c]); }
  }
  if (!state.nodes.length) { low = [0, 0]; high = [1, 1]; }
  const room = state.nodes.length < 400 ? [90, 34] : [24, 24];
  const sx = (view.width - 2 * room[0]) / Math.max(1e-6, high[0] - low[0]);
  const sy = (view.height - 2 * room[1]) / Math.max(1e-6, high[1] - low[1]);
  view.scale = Math.max(1e-3, Math.min(sy, 2 * sx, state.near ? 130 : 110));
  view.stretch = Math.max(0.5, Math.min(sx / view.scale, 2));
  view.fitted = view.scale;
  view.x = view.width / 2 - (view.scale * view.stretch * (low[0] + high[0])) / 2;
  view.y = view.height / 2 - (view.scale * (low[1] + high[1])) / 2;
  return undefined;
}

function resize() {
  const box = view.canvas.getBoundingClientRect();
  view.width = Math.max(50, box.width);
  view.height = Math.max(50, box.height);
}

function zoom(factor, x = view.width / 2, y = view.height / 2) {
  const scale = Math.max(boxed.on ? 0.1 : 0.5, Math.min(boxed.on ? 5 : 2000, view.scale * factor));
  view.x = x - ((x - view.x) * scale) / view.scale;
  view.y = y - ((y - view.y) * scale) / view.scale;
  view.scale = scale;
}

let waiting = false;

/** Draw at the next frame: many movements of the pointer make one picture. */
function drawSoon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; draw(); });
}

/** Draw; `ratio` is device pixels per pixel of the page, larger for print. */
function draw(ratio = window.devicePixelRatio || 1) {
  const { canvas, width, height } = view;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const c = canvas.getContext("2d");
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  drawOn(c);
}

/** Draw with a context of the size of the picture. */
function drawOn(c) {
  c.fillStyle = COLOURS.paper;
  c.fillRect(0, 0, view.width, view.height);
  const at = { x: new Float32Array(graph.nodes), y: new Float32Array(graph.nodes) }; // pixels, of the variables drawn
  for (const v of drawnNodes()) [at.x[v], at.y[v]] = place(v);
  const beside = state.node === null ? null : new Set([state.node, ...edgesOf(state.node).map((k) => other(k, state.node))]);
  drawEdges(c, at);
  if (boxed.on) return drawBoxes(c, beside);
  drawDots(c, at, beside);
  return drawLabels(c, at, beside);
}

function drawEdges(c, at) {
  c.lineCap = "butt";
  const chosen = state.pair && graph.edgeOf.get(pairKey(...state.pair));
  const thin = state.near ? 1 : Math.min(1, 0.35 + 600 / (state.edges.length + 600));
  const looks = STYLES.map(() => [[], []]); // by kind, and whether an edge is faded or bright
  for (const k of state.edges) if (boxed.on || meetsView(at, graph.tail[k], graph.head[k])) looks[graph.kind[k]][Number(state.node === null || touches(k, state.node))].push(k);
  view.heads = [];
  for (const [kind, style] of STYLES.entries()) {
    for (const bright of [false, true]) {
      const some = looks[kind][Number(bright)];
      if (!some.length) continue;
      c.globalAlpha = bright ? (state.near ? 0.9 : state.node === null ? 0.35 + 0.5 * thin : 1) : state.near ? 0.45 : 0.16;
      c.strokeStyle = c.fillStyle = COLOURS.kinds[kind];
      const width = style.width * (bright && state.node !== null ? 1.25 : thin);
      c.setLineDash(some.length > MANY ? [] : style.dash);
      byStrength(some).forEach((edges, i) => {
        c.lineWidth = width * THICKNESS[i];
        c.beginPath();
        for (const k of edges) trace(c, at, k);
        c.stroke();
      });
      c.setLineDash([]);
      const typical = radius(graph.head[some[0]]);
      if (!boxed.on && !state.near && typical < 1.8 && !(bright && state.node !== null)) continue; // too small to be seen
      drawSigns(c, at, some);
      const length = boxed.on ? Math.max(4, Math.min(11, 9 * view.scale)) : state.near ? 9 : Math.max(4, Math.min(9, 1.4 * typical));
      drawMarks(c, at, some, MARKS[kind], length);
    }
  }
  c.globalAlpha = 1;
  if (state.pair && state.pair.every((v) => drawnNodes().includes(v))) {
    c.globalAlpha = 0.6;
    c.strokeStyle = COLOURS.mark;
    c.lineWidth = chosen === undefined ? 6 : 9;
    c.setLineDash(chosen === undefined ? [3, 5] : []);
    c.beginPath();
    if (chosen !== undefined) trace(c, at, chosen);
    else { c.moveTo(at.x[state.pair[0]], at.y[state.pair[0]]); c.lineTo(at.x[state.pair[1]], at.y[state.pair[1]]); }
    c.stroke();
    c.setLineDash([]);
    c.globalAlpha = 1;
  }
}

/** Edges whose lines are thin, medium and thick; all are medium where there are too many to tell. */
function byStrength(edges) {
  if (!graph.strength || edges.length > MANY) return [[], edges, []];
  const groups = [[], [], []], [low, high] = graph.strength.limits;
  for (const k of edges) groups[Number(graph.strength.of(k) >= low) + Number(graph.strength.of(k) >= high)].push(k);
  return groups;
}

/** A bar across the middle of each edge whose correlation is negative. */
function drawSigns(c, at, edges) {
  if (!graph.r) return;
  c.lineWidth = 1.5;
  c.beginPath();
  for (const k of edges) {
    if (!(graph.r[k] < 0)) continue;
    const points = boxed.on ? lineOf(k) : [graph.tail[k], graph.head[k]].map((v) => [at.x[v], at.y[v]]), i = Math.max(1, points.length >> 1);
    const [p, q] = [points[i - 1], points[i]], dx = q[0] - p[0], dy = q[1] - p[1], d = Math.hypot(dx, dy);
    if (!d || Math.hypot(points[points.length - 1][0] - points[0][0], points[points.length - 1][1] - points[0][1]) < 25) continue;
    const x = (p[0] + q[0]) / 2, y = (p[1] + q[1]) / 2;
    c.moveTo(x - (5 * dy) / d, y + (5 * dx) / d);
    c.lineTo(x + (5 * dy) / d, y - (5 * dx) / d);
  }
  c.stroke();
}

/** Whether the line between two variables may cross the picture. */
function meetsView(at, a, b) {
  return Math.max(at.x[a], at.x[b]) > 0 && Math.min(at.x[a], at.x[b]) < view.width && Math.max(at.y[a], at.y[b]) > 0 && Math.min(at.y[a], at.y[b]) < view.height;
}

/** Add the line of edge k to the path. */
function trace(c, at, k) {
  if (boxed.on) return lineOf(k).forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)));
  c.moveTo(at.x[graph.tail[k]], at.y[graph.tail[k]]);
  return c.lineTo(at.x[graph.head[k]], at.y[graph.head[k]]);
}

/** The marks at the ends of edges of one kind, `marks` at tail and head: filled triangles and open circles. */
function drawMarks(c, at, edges, marks, length) {
  for (const mark of new Set(marks)) {
    if (!mark) continue;
    c.beginPath();
    for (const k of edges) {
      for (const end of [0, 1]) if (marks[end] === mark) markPath(c, tipOf(at, k, end, length), mark, length);
    }
    if (mark === "circle") c.fillStyle = COLOURS.paper;
    c.fill();
    c.fillStyle = c.strokeStyle;
    c.lineWidth = 1.3;
    if (mark === "circle") c.stroke();
  }
}

/** Where edge k touches its tail (0) or head (1), and the direction in which it arrives: [x, y, ux, uy], or null. */
function tipOf(at, k, end, length) {
  if (boxed.on) {
    const points = lineOf(k);
    if (!end) points.reverse();
    const tip = points[points.length - 1], from = points.slice().reverse().find((p) => Math.hypot(p[0] - tip[0], p[1] - tip[1]) >= length) || points[0];
    const d = Math.hypot(tip[0] - from[0], tip[1] - from[1]);
    return d ? [tip[0], tip[1], (tip[0] - from[0]) / d, (tip[1] - from[1]) / d] : null;
  }
  const [a, b] = end ? [graph.tail[k], graph.head[k]] : [graph.head[k], graph.tail[k]];
  const gap = radius(b), dx = at.x[b] - at.x[a], dy = at.y[b] - at.y[a], d = Math.hypot(dx, dy);
  return d < gap + 2 ? null : [at.x[b] - (dx / d) * (gap + 0.5), at.y[b] - (dy / d) * (gap + 0.5), dx / d, dy / d];
}

/** A triangle, or a circle, at the tip of an edge. */
function markPath(c, tip, mark, length) {
  if (!tip) return;
  const [x, y, ux, uy] = tip, w = 0.42 * length, back = [x - ux * length, y - uy * length];
  view.heads.push([Math.min(x, back[0]) - 2, Math.min(y, back[1]) - 2, Math.max(x, back[0]) + 2, Math.max(y, back[1]) + 2]);
  if (mark === "circle") {
    const r = 0.45 * length;
    c.moveTo(x - ux * r + r, y - uy * r);
    c.arc(x - ux * r, y - uy * r, r, 0, 7);
    return;
  }
  c.moveTo(x, y);
  c.lineTo(x - ux * length - uy * w, y - uy * length + ux * w);
  c.lineTo(x - ux * length + uy * w, y - uy * length - ux * w);
  c.closePath();
}

/** Dots of one look are one path, which is much faster than one path each. */
function drawDots(c, at, beside) {
  const pair = state.pair || [];
  const looks = [[], [], [], []]; // faded, plain, grown, chosen
  for (const v of state.nodes) {
    if (at.x[v] < -20 || at.y[v] < -20 || at.x[v] > view.width + 20 || at.y[v] > view.height + 20) continue;
    const chosen = v === state.node || pair.includes(v);
    looks[chosen ? 3 : state.near && state.grown.has(v) ? 2 : !state.near && beside && !beside.has(v) ? 0 : 1].push(v);
  }
  const fills = [COLOURS.dot, COLOURS.dot, COLOURS.grown, COLOURS.chosen];
  const grouped = looks.map((nodes) => nodes.filter(groupLook));
  looks.forEach((nodes, look) => {
    c.beginPath();
    for (const v of nodes) {
      const r = radius(v);
      c.moveTo(at.x[v] + r, at.y[v]);
      c.arc(at.x[v], at.y[v], r, 0, 7);
    }
    c.globalAlpha = look ? 1 : 0.4;
    c.fillStyle = fills[look];
    c.fill();
    c.lineWidth = look === 3 ? 2 : nodes.length > 400 ? 0.6 : 1;
    c.strokeStyle = look === 3 ? COLOURS.ink : COLOURS.grey;
    c.stroke();
    if (look === 3) return;
    for (const v of grouped[look]) { // over the plain dots: the colour and form of the group
      const r = Math.max(radius(v), 2.5), group = groupLook(v);
      c.beginPath();
      formPath(c, at.x[v] - r, at.y[v] - r, 2 * r, 2 * r, group.form === "round" ? "pill" : group.form === "pill" ? "cut" : group.form);
      c.fillStyle = group.fill;
      c.strokeStyle = group.line;
      c.lineWidth = 1.4;
      c.fill();
      c.stroke();
    }
  });
  c.globalAlpha = 1;
}

function drawLabels(c, at, beside) {
  c.font = font(12);
  c.textBaseline = "middle";
  const rank = (v) => (v === state.node ? 1e9 : (state.pair && state.pair.includes(v) ? 1e8 : 0) + (beside && beside.has(v) ? 1e6 : 0) + graph.degree[v]);
  const inside = state.nodes.filter((v) => at.x[v] > 0 && at.y[v] > 0 && at.x[v] < view.width && at.y[v] < view.height);
  const dots = inside.sort((a, b) => rank(b) - rank(a) || a - b).map((v) => ({ v, x: at.x[v], y: at.y[v], radius: radius(v) }));
  const always = new Set([state.node, ...(state.pair || [])]);
  // in a crowd only the first ones are named, more of them as fewer are in sight, and over the dots of others
  const crowd = !state.near && dots.length > 320;
  const named = crowd ? dots.slice(0, Math.round(40 + 160 * (1 - dots.length / graph.nodes))) : dots;
  const crowded = crowd || state.edges.length > 3000;
  const hubs = state.near || beside ? 0 : Math.min(HUBS, dots.filter((d) => graph.degree[d.v] >= HUB).length);
  view.labelled = placeLabels(named, (text) => c.measureText(text).width, always, view, crowd ? [] : view.heads, crowded ? [] : state.edges.map(lineOf), hubs);
  const drawn = new Set(state.nodes);
  for (const label of view.labelled) { // a line ends at a name and goes on behind it
    c.globalAlpha = 1;
    c.fillStyle = COLOURS.paper;
    c.fillRect(label.x - 1, label.y - 7, label.width + 2, 14);
    c.globalAlpha = !state.near && beside && !beside.has(label.v) ? 0.45 : 1;
    c.font = font(12, label.v === state.node || (state.pair && state.pair.includes(label.v)) ? "600 " : "");
    c.fillStyle = COLOURS.ink;
    c.fillText(label.text, label.x, label.y);
  }
  c.globalAlpha = 1;
  if (!state.near) return;
  c.font = font(10);
  c.textAlign = "center";
  c.fillStyle = COLOURS.ink;
  for (const v of state.nodes) { // how many more neighbours a click would show
    const more = hiddenNeighbours(v, drawn);
    if (more) c.fillText(`+${more}`, at.x[v], at.y[v] + 0.5);
  }
  c.textAlign = "start";
}

/** The variable or edge at a point of the picture: {node}, {pair} or null. */
function under(x, y) {
  let best = null, nearest = 1;
  if (boxed.on) {
    const node = boxed.nodes.find((v) => { const [left, top, w, h] = boxOf(v); return x > left && x < left + w && y > top && y < top + h; });
    if (node !== undefined) return { node };
  } else {
    for (const v of state.nodes) {
      const [px, py] = place(v), d = Math.hypot(px - x, py - y) / (radius(v) + 4);
      if (d < nearest) { nearest = d; best = { node: v }; }
    }
    if (!best) for (const l of view.labelled) if (x > l.x && x < l.x + l.width && Math.abs(y - l.y) < 8) best = { node: l.v };
  }
  if (best) return best;
  nearest = 6;
  for (const k of state.edges) {
    const points = lineOf(k);
    for (let i = 1; i < points.length; i++) {
      const d = fromLine(x, y, points[i - 1], points[i]);
      if (d < nearest) { nearest = d; best = { pair: [graph.tail[k], graph.head[k]] }; }
    }
  }
  return best;
}

function fromLine(x, y, a, b) {
  const dx = b[0] - a[0], dy = b[1] - a[1], square = dx * dx + dy * dy;
  const t = square ? Math.max(0, Math.min(1, ((x - a[0]) * dx + (y - a[1]) * dy) / square)) : 0;
  return Math.hypot(x - a[0] - t * dx, y - a[1] - t * dy);
}
