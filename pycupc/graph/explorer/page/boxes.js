"use strict";
// A small graph as boxes with their names, in layers; the names of all boxes can be read, or none is shown.

const MAX_BOXES = 60, MAX_BOXED_EDGES = 180;
const LETTERS = 12, LEAST_LETTERS = 8; // pixels: the size of names at scale 1, and the smallest that is shown
const MARGIN = 16; // pixels around the boxes

// `on`: whether boxes are drawn; `nodes` those with a box, `alone` the others, which have no edge; `places`, `sizes` and
// `routes` are in pixels at scale 1
const boxed = { on: false, key: "", nodes: [], alone: [], places: new Map(), sizes: new Map(), routes: new Map() };

function font(pixels, weight = "") { return `${weight}${pixels}px system-ui, "DejaVu Sans", sans-serif`; }

/** The variables that are drawn. */
function drawnNodes() { return boxed.on ? boxed.nodes : state.nodes; }

/** Decide whether what state.js shows is drawn as boxes, and where they lie; whether anything has changed. */
function arrange(again = false) {
  const linked = new Set(state.linked.flatMap((k) => [graph.tail[k], graph.head[k]]));
  const nodes = state.near ? state.nodes : state.nodes.filter((v) => linked.has(v));
  const on = nodes.length <= MAX_BOXES && state.linked.length <= MAX_BOXED_EDGES;
  const key = on ? JSON.stringify([state.near, state.nodes, state.linked]) : "";
  if (key === boxed.key && on === boxed.on && !again) return false;
  Object.assign(boxed, { on, key, nodes: on ? nodes : [], alone: on ? state.nodes.filter((v) => !nodes.includes(v)) : [] });
  fillAlone(); // before the boxes, which fill the room that it leaves
  if (on && nodes.length) placeBoxes(nodes);
  return true;
}

/** Of several shapes the one that the picture shows largest; then moved apart to fill it. */
function placeBoxes(nodes) {
  const c = view.canvas.getContext("2d"), drawn = new Set(nodes);
  resize();
  c.font = font(LETTERS, "600 ");
  for (const v of nodes) {
    const hidden = state.near ? hiddenNeighbours(v, drawn) : 0;
    boxed.sizes.set(v, [Math.max(34, c.measureText(boxText(v, hidden)).width + 18), 24]);
  }
  const size = (v) => boxed.sizes.get(v), width = view.width - 2 * MARGIN, height = view.height - 2 * MARGIN;
  let best = null;
  for (const aspect of width < 600 ? [0.4, 0.55, 0.75, 1, 1.4] : [0.7, 1, 1.4, 1.9, 2.6]) {
    const places = layeredPlaces(nodes, state.linked, size, width < 600 ? TIGHT : GAP, aspect, width / height);
    const [low, high] = extent(nodes, places), scale = Math.min(1.25, width / (high[0] - low[0]), height / (high[1] - low[1]));
    if (!best || scale > best.scale * 1.02) best = { places, low, high, scale };
  }
  const room = [width, height].map((room, c) => Math.max(1, Math.min(2.4, room / best.scale / (best.high[c] - best.low[c]))));
  boxed.places = new Map(nodes.map((v) => [v, best.places.get(v).map((at, c) => at * room[c])]));
  if (!state.near && !state.filters.length) for (const [v, at] of moved.boxes) if (boxed.places.has(v)) boxed.places.set(v, at);
  routeBoxes();
}

function routeBoxes() {
  boxed.routes = routesBetween(new Map(boxed.nodes.map((v) => [v, [...boxed.places.get(v), ...boxed.sizes.get(v)]])), state.linked);
}

/** The corners of the rectangle around boxes. */
function extent(nodes, places) {
  const low = [Infinity, Infinity], high = [-Infinity, -Infinity];
  for (const v of nodes) {
    for (const c of [0, 1]) {
      low[c] = Math.min(low[c], places.get(v)[c] - boxed.sizes.get(v)[c] / 2);
      high[c] = Math.max(high[c], places.get(v)[c] + boxed.sizes.get(v)[c] / 2);
    }
  }
  return [low, high];
}

/** Show all boxes. */
function fitBoxes() {
  const [low, high] = boxed.nodes.length ? extent(boxed.nodes, boxed.places) : [[0, 0], [1, 1]];
  view.scale = Math.min(1.25, (view.width - 2 * MARGIN) / (high[0] - low[0]), (view.height - 2 * MARGIN) / (high[1] - low[1]));
  view.stretch = 1;
  view.fitted = view.scale;
  view.x = view.width / 2 - (view.scale * (low[0] + high[0])) / 2;
  view.y = view.height / 2 - (view.scale * (low[1] + high[1])) / 2;
}

/** The text in the box of v: its name, and how many more neighbours a click would show. */
function boxText(v, hidden) { return shortLabel(name(v)) + (hidden ? ` +${hidden}` : ""); }

/** Whether the names can be read at this scale. */
function namesShown() { return LETTERS * view.scale >= LEAST_LETTERS; }

/** The box of v: left, top, width and height in pixels. */
function boxOf(v) {
  const [x, y] = place(v), [w, h] = boxed.sizes.get(v).map((side) => side * view.scale);
  return [x - w / 2, y - h / 2, w, h];
}

/** Points of the line of edge k in pixels. */
function lineOf(k) {
  const route = boxed.on && boxed.routes.get(k);
  return route ? route.map(([x, y]) => [x * view.scale + view.x, y * view.scale + view.y]) : [place(graph.tail[k]), place(graph.head[k])];
}

/** The outline of a box: "round", "square", "pill", or with "cut" corners. */
function formPath(c, x, y, w, h, form) {
  const r = form === "pill" ? Math.min(w, h) / 2 : Math.min(7, Math.min(w, h) / 3);
  if (form === "round" || form === "pill") return c.roundRect(x, y, w, h, r);
  const cut = form === "square" ? 0 : r;
  [[x + cut, y], [x + w - cut, y], [x + w, y + cut], [x + w, y + h - cut], [x + w - cut, y + h], [x + cut, y + h], [x, y + h - cut], [x, y + cut]].forEach(([a, b], i) => (i ? c.lineTo(a, b) : c.moveTo(a, b)));
  return c.closePath();
}

function drawBoxes(c, beside) {
  const pair = state.pair || [], shown = namesShown(), drawn = new Set(boxed.nodes);
  c.textAlign = "center";
  c.textBaseline = "middle";
  view.labelled = [];
  for (const v of boxed.nodes) {
    const [x, y, w, h] = boxOf(v), chosen = v === state.node || pair.includes(v), faded = !state.near && beside && !beside.has(v);
    c.globalAlpha = 1;
    const group = groupLook(v);
    c.fillStyle = chosen ? COLOURS.chosen : group ? group.fill : state.near && state.grown.has(v) ? COLOURS.grown : COLOURS.box;
    c.strokeStyle = chosen ? COLOURS.ink : group ? group.line : COLOURS.grey;
    c.lineWidth = chosen || (state.near && state.grown.has(v)) ? 2 : group ? 1.5 : 1;
    c.beginPath();
    formPath(c, x, y, w, h, group ? group.form : "round");
    c.fill();
    c.globalAlpha = faded ? 0.4 : 1;
    c.stroke();
    if (!shown) continue;
    c.fillStyle = chosen ? COLOURS.onChosen : COLOURS.ink;
    c.font = font(LETTERS * view.scale, chosen ? "600 " : "");
    c.fillText(boxText(v, state.near ? hiddenNeighbours(v, drawn) : 0), x + w / 2, y + h / 2 + 0.5);
    view.labelled.push({ v, text: shortLabel(name(v)), x, y: y + h / 2, width: w, height: h });
  }
  c.globalAlpha = 1;
  c.textAlign = "start";
}

/** Name the variables without an edge in a line of text. */
function fillAlone() {
  const box = byId("alone"), most = 100;
  box.hidden = !boxed.alone.length;
  const more = boxed.alone.length > most ? [` and ${(boxed.alone.length - most).toLocaleString("en")} more`] : [];
  box.replaceChildren("Without an edge: ", ...boxed.alone.slice(0, most).flatMap((v, i) => [...(i ? [", "] : []), button(shortLabel(name(v)), () => goTo(v), name(v))]), ...more);
}
