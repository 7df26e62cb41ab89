"use strict";
// What is shown: the whole graph or a neighbourhood, the selection, and the filters. Nothing here touches the page.

const STEP = 40; // neighbours that one click adds, those with the smallest p-values first

const state = {
  near: false, // whether a neighbourhood is shown rather than the whole graph
  grown: new Map(), // variable -> how many of its neighbours are shown
  parent: new Map(), // variable -> the one it was reached from
  places: new Map(), // variable -> [x, y] in a neighbourhood
  node: null, // selected variable
  pair: null, // selected pair [a, b]
  filter: { p: Infinity, low: 0, high: Infinity, kinds: [true, true, true], way: "any", stability: 0 },
  removedShown: false,
  nodes: [], // what is drawn
  edges: [],
};

function passes(k) {
  const f = state.filter, a = graph.tail[k], b = graph.head[k];
  if (graph.p[k] > f.p || !f.kinds[graph.kind[k]]) return false;
  if (graph.stability && f.stability > 0 && !(graph.stability[k] >= f.stability)) return false;
  return inDegree(a) && inDegree(b);
}

function inDegree(v) { return graph.degree[v] >= state.filter.low && graph.degree[v] <= state.filter.high; }

/** Whether edge k points the way that the filter asks for, as seen from the selected variable. */
function goesTheWay(k, v) {
  if (state.filter.way === "any") return true;
  if (graph.kind[k] === 2) return state.filter.way === "in"; // a bidirected edge has an arrowhead at either end
  return graph.kind[k] === 0 && (state.filter.way === "in" ? graph.head[k] : graph.tail[k]) === v;
}

/** Edges of v that the filters let through. */
function filteredEdges(v) {
  return Array.from(edgesOf(v)).filter((k) => passes(k) && (v !== state.node || goesTheWay(k, v)));
}

/** Number of neighbours of v that are not drawn. */
function hiddenNeighbours(v, drawn) {
  let count = 0;
  for (const k of edgesOf(v)) if (passes(k) && !drawn.has(other(k, v))) count++;
  return count;
}

/** Work out again which variables and edges are drawn; in a neighbourhood, also where. */
function recompute() {
  if (!state.near) {
    const filtering = state.filter.low > 0 || state.filter.high < Infinity;
    state.nodes = [];
    for (let v = 0; v < graph.nodes; v++) if (!filtering || inDegree(v)) state.nodes.push(v);
    state.edges = [];
    for (let k = 0; k < graph.m; k++) if (passes(k) && (state.node === null || !touches(k, state.node) || goesTheWay(k, state.node))) state.edges.push(k);
    return;
  }
  const shown = new Set(state.grown.keys());
  for (const [v, count] of state.grown) {
    for (const k of filteredEdges(v).slice(0, count)) {
      const u = other(k, v);
      if (!shown.has(u)) { shown.add(u); state.parent.set(u, v); }
    }
  }
  state.nodes = Array.from(shown);
  const edges = new Set();
  for (const v of shown) for (const k of edgesOf(v)) if (shown.has(other(k, v)) && passes(k) && (!touches(k, state.node) || goesTheWay(k, state.node))) edges.add(k);
  state.edges = Array.from(edges).sort((a, b) => a - b);
  state.places = placeNodes(state.nodes, state.edges, state.places, state.parent);
}

function touches(k, v) { return graph.tail[k] === v || graph.head[k] === v; }

/** Show the neighbourhood of v alone. */
function startAt(v) {
  state.near = true;
  state.grown = new Map([[v, STEP]]);
  state.parent = new Map();
  state.places = new Map();
  select(v);
  recompute();
}

/** Add the (next) neighbours of v to the neighbourhood that is shown. */
function grow(v) {
  state.grown.set(v, (state.grown.get(v) || 0) + STEP);
  recompute();
}

/** Take the neighbours that were reached through v out again, and what was reached through them. */
function shrink(v) {
  if (state.grown.size > 1) state.grown.delete(v);
  let linked = new Set([state.grown.keys().next().value]); // keep what hangs together with the first variable
  for (let size = 0; size !== linked.size; ) {
    size = linked.size;
    for (const u of Array.from(linked)) if (state.grown.has(u)) for (const k of edgesOf(u)) linked.add(other(k, u));
  }
  for (const u of Array.from(state.grown.keys())) if (!linked.has(u)) state.grown.delete(u);
  recompute();
}

function showAll() { state.near = false; recompute(); }

function select(v) { state.node = v; state.pair = null; }
function selectPair(a, b) { state.pair = [a, b]; }

/** Removed pairs that the table lists and, among what is drawn, the picture: positions in graph.removed. */
function removedInScope() {
  if (state.node !== null) return removals.at(state.node);
  if (!state.near) return Array.from(graph.removed.x, (_, k) => k);
  const shown = new Set(state.nodes);
  return Array.from(shown).flatMap((v) => removals.at(v).filter((k) => graph.removed.x[k] === v && shown.has(graph.removed.y[k])));
}

/** Removed pairs that are drawn as dotted lines: those among the variables of a neighbourhood. */
function removedDrawn() {
  if (!state.removedShown || !state.near) return [];
  const shown = new Set(state.nodes), { x, y } = graph.removed;
  const seen = new Set();
  for (const v of shown) for (const k of removals.at(v)) if (shown.has(x[k]) && shown.has(y[k])) seen.add(k);
  return Array.from(seen);
}
