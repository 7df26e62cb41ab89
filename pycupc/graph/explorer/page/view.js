"use strict";
// The picture: draws what state.js says is shown, and finds what lies under the pointer.

const COLOURS = { ink: "#10202e", grey: "#5b6b7a", dot: "#dce6ee", chosen: "#f2c14e", mark: "#e39b00", grown: "#9db8cc" };
// the kinds differ in form as well as in colour, so that they remain distinct without colours
const STYLES = [
  { colour: "#1d3d5c", width: 1.3, dash: [] },
  { colour: "#8a5a00", width: 1.5, dash: [6, 4] },
  { colour: "#b3261e", width: 2.6, dash: [] },
  { colour: "#1b6e4b", width: 1.3, dash: [] },
  { colour: "#6a4c93", width: 1.3, dash: [] },
  { colour: "#a4337f", width: 1.3, dash: [] },
];

// width of thin, medium and thick lines, relative to the width of their kind
const THICKNESS = [0.6, 1, 1.7];

// more edges of a kind than can be told apart are drawn without dashes, which take most of the time
const MANY = 6000;

const view = { canvas: document.getElementById("picture"), scale: 1, stretch: 1, fitted: 1, x: 0, y: 0, width: 0, height: 0, labelled: [], heads: [] };

/** Where a variable lies, whatever part of the picture is in sight. */
function position(v) {
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
}

function resize() {
  const box = view.canvas.getBoundingClientRect();
  view.width = Math.max(50, box.width);
  view.height = Math.max(50, box.height);
}

function zoom(factor, x = view.width / 2, y = view.height / 2) {
  const scale = Math.max(0.5, Math.min(2000, view.scale * factor));
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
  c.fillStyle = "#ffffff";
  c.fillRect(0, 0, width, height);
  const at = { x: new Float32Array(graph.nodes), y: new Float32Array(graph.nodes) }; // pixels, of the variables drawn
  for (const v of state.nodes) [at.x[v], at.y[v]] = place(v);
  const beside = state.node === null ? null : new Set([state.node, ...edgesOf(state.node).map((k) => other(k, state.node))]);
  drawEdges(c, at);
  drawDots(c, at, beside);
  drawLabels(c, at, beside);
}

function drawEdges(c, at) {
  c.lineCap = "butt";
  const chosen = state.pair && graph.edgeOf.get(pairKey(...state.pair));
  const thin = state.near ? 1 : Math.min(1, 0.35 + 600 / (state.edges.length + 600));
  const looks = STYLES.map(() => [[], []]); // by kind, and whether an edge is faded or bright
  for (const k of state.edges) if (meetsView(at, graph.tail[k], graph.head[k])) looks[graph.kind[k]][Number(state.node === null || touches(k, state.node))].push(k);
  view.heads = [];
  for (const [kind, style] of STYLES.entries()) {
    for (const bright of [false, true]) {
      const some = looks[kind][Number(bright)];
      if (!some.length) continue;
      c.globalAlpha = bright ? (state.near ? 0.9 : state.node === null ? 0.35 + 0.5 * thin : 1) : state.near ? 0.45 : 0.16;
      c.strokeStyle = c.fillStyle = style.colour;
      const width = style.width * (bright && state.node !== null ? 1.25 : thin);
      c.setLineDash(some.length > MANY ? [] : style.dash);
      byStrength(some).forEach((edges, i) => {
        c.lineWidth = width * THICKNESS[i];
        c.beginPath();
        for (const k of edges) { c.moveTo(at.x[graph.tail[k]], at.y[graph.tail[k]]); c.lineTo(at.x[graph.head[k]], at.y[graph.head[k]]); }
        c.stroke();
      });
      c.setLineDash([]);
      const typical = radius(graph.head[some[0]]);
      if (!state.near && typical < 1.8 && !(bright && state.node !== null)) continue; // too small to be seen
      drawSigns(c, at, some);
      const length = state.near ? 9 : Math.max(4, Math.min(9, 1.4 * typical));
      drawMarks(c, at, some, MARKS[kind], length);
    }
  }
  c.globalAlpha = 1;
  if (state.pair && state.pair.every((v) => state.nodes.includes(v))) {
    c.globalAlpha = 0.6;
    line(c, at, ...state.pair, COLOURS.mark, chosen === undefined ? 6 : 9, chosen === undefined ? [3, 5] : []);
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
    const a = graph.tail[k], b = graph.head[k], dx = at.x[b] - at.x[a], dy = at.y[b] - at.y[a], d = Math.hypot(dx, dy);
    if (!(graph.r[k] < 0) || d < 25) continue;
    const x = (at.x[a] + at.x[b]) / 2, y = (at.y[a] + at.y[b]) / 2;
    c.moveTo(x - (5 * dy) / d, y + (5 * dx) / d);
    c.lineTo(x + (5 * dy) / d, y - (5 * dx) / d);
  }
  c.stroke();
}

/** Whether the line between two variables may cross the picture. */
function meetsView(at, a, b) {
  return Math.max(at.x[a], at.x[b]) > 0 && Math.min(at.x[a], at.x[b]) < view.width && Math.max(at.y[a], at.y[b]) > 0 && Math.min(at.y[a], at.y[b]) < view.height;
}

function line(c, at, a, b, colour, width, dash) {
  c.strokeStyle = colour;
  c.lineWidth = width;
  c.setLineDash(dash);
  c.beginPath();
  c.moveTo(at.x[a], at.y[a]);
  c.lineTo(at.x[b], at.y[b]);
  c.stroke();
  c.setLineDash([]);
}

/** The marks at the ends of edges of one kind, `marks` at tail and head: filled triangles and open circles. */
function drawMarks(c, at, edges, marks, length) {
  for (const mark of new Set(marks)) {
    if (!mark) continue;
    c.beginPath();
    for (const k of edges) {
      if (marks[0] === mark) markPath(c, at, graph.head[k], graph.tail[k], mark, length);
      if (marks[1] === mark) markPath(c, at, graph.tail[k], graph.head[k], mark, length);
    }
    if (mark === "circle") c.fillStyle = "#ffffff";
    c.fill();
    c.fillStyle = c.strokeStyle;
    c.lineWidth = 1.3;
    if (mark === "circle") c.stroke();
  }
}

/** A triangle, or a circle, that touches the circle around b, on the line from a. */
function markPath(c, at, a, b, mark, length) {
  const gap = radius(b), dx = at.x[b] - at.x[a], dy = at.y[b] - at.y[a], d = Math.hypot(dx, dy);
  if (d < gap + 2) return;
  const ux = dx / d, uy = dy / d, x = at.x[b] - ux * (gap + 0.5), y = at.y[b] - uy * (gap + 0.5), w = 0.42 * length;
  const back = [x - ux * length, y - uy * length];
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
  });
  c.globalAlpha = 1;
}

function drawLabels(c, at, beside) {
  c.font = "12px system-ui, 'DejaVu Sans', sans-serif";
  c.textBaseline = "middle";
  const rank = (v) => (v === state.node ? 1e9 : (state.pair && state.pair.includes(v) ? 1e8 : 0) + (beside && beside.has(v) ? 1e6 : 0) + graph.degree[v]);
  const inside = state.nodes.filter((v) => at.x[v] > 0 && at.y[v] > 0 && at.x[v] < view.width && at.y[v] < view.height);
  const dots = inside.sort((a, b) => rank(b) - rank(a) || a - b).map((v) => ({ v, x: at.x[v], y: at.y[v], radius: radius(v) }));
  const always = new Set([state.node, ...(state.pair || [])]);
  // in a crowd only the first ones are named, more of them as fewer are in sight, and over the dots of others
  const crowd = !state.near && dots.length > 320;
  const named = crowd ? dots.slice(0, Math.round(40 + 160 * (1 - dots.length / graph.nodes))) : dots;
  view.labelled = placeLabels(named, (text) => c.measureText(text).width, always, view, crowd ? [] : view.heads);
  const drawn = new Set(state.nodes);
  for (const label of view.labelled) {
    c.globalAlpha = !state.near && beside && !beside.has(label.v) ? 0.45 : 1;
    c.lineWidth = 3;
    c.lineJoin = "round";
    c.strokeStyle = "rgba(255, 255, 255, 0.9)";
    c.font = `${label.v === state.node || (state.pair && state.pair.includes(label.v)) ? "600 " : ""}12px system-ui, 'DejaVu Sans', sans-serif`;
    c.strokeText(label.text, label.x, label.y);
    c.fillStyle = COLOURS.ink;
    c.fillText(label.text, label.x, label.y);
  }
  c.globalAlpha = 1;
  if (!state.near) return;
  c.font = "10px system-ui, 'DejaVu Sans', sans-serif";
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
  for (const v of state.nodes) {
    const [px, py] = place(v), d = Math.hypot(px - x, py - y) / (radius(v) + 4);
    if (d < nearest) { nearest = d; best = { node: v }; }
  }
  if (!best) for (const l of view.labelled) if (x > l.x && x < l.x + l.width && Math.abs(y - l.y) < 8) best = { node: l.v };
  if (best) return best;
  nearest = 6;
  for (const k of state.edges) {
    const a = graph.tail[k], b = graph.head[k], d = fromLine(x, y, place(a), place(b));
    if (d < nearest) { nearest = d; best = { pair: [a, b] }; }
  }
  return best;
}

function fromLine(x, y, a, b) {
  const dx = b[0] - a[0], dy = b[1] - a[1], square = dx * dx + dy * dy;
  const t = square ? Math.max(0, Math.min(1, ((x - a[0]) * dx + (y - a[1]) * dy) / square)) : 0;
  return Math.hypot(x - a[0] - t * dx, y - a[1] - t * dy);
}
