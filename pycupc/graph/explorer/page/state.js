"use strict";
// What is shown: the whole graph or a neighbourhood, the selection, and the filters. Nothing here touches the page.

const STEP = 40; // neighbours that one click adds, those with the smallest p-values (or most stable edges) first

const state = {
  near: false, // whether a neighbourhood is shown rather than the whole graph
  grown: new Map(), // variable -> how many of its neighbours are shown
  parent: new Map(), // variable -> the one it was reached from
  places: new Map(), // variable -> [x, y] in a neighbourhood
  node: null, // selected variable
  pair: null, // selected pair [a, b]
  filter: { p: Infinity, low: 0, high: Infinity, kinds: KINDS.map(() => true), way: "any", stability: 0, groups: null },
  filters: [], // those in use: whether it lets edge k through
  arranged: "", // the filters for which `filtered` was worked out
  filtered: null, // variable -> [x, y] in the whole graph without what the filters hide; null without filters
  nodes: [], // what is drawn
  edges: [],
  linked: [], // the edges that decide where variables lie: also those that the filter of directions hides
};

/** The filters in use, for `state.filters`; all but the filter of the selected variable's directions. */
function filtersInUse(f) {
  const ends = (k, test) => test(graph.degree[graph.tail[k]]) && test(graph.degree[graph.head[k]]);
  return [
    [graph.p && f.p < Infinity, (k) => graph.p[k] <= f.p],
    [f.low > 0 || f.high < Infinity, (k) => ends(k, (degree) => degree >= f.low && degree <= f.high)],
    [f.kinds.includes(false), (k) => f.kinds[graph.kind[k]]],
    [f.groups && f.groups.includes(false), (k) => f.groups[graph.group[graph.tail[k]]] && f.groups[graph.group[graph.head[k]]]],
    [graph.stability && f.stability > 0, (k) => graph.stability[k] >= f.stability],
  ].filter(([used]) => used).map(([, test]) => test);
}

function passes(k) { return state.filters.every((test) => test(k)); }

function inDegree(v) { return graph.degree[v] >= state.filter.low && graph.degree[v] <= state.filter.high; }

/** Whether edge k points the way that the filter asks for, as seen from the selected variable. */
function goesTheWay(k, v) {
  if (state.filter.way === "any") return true;
  if (state.filter.way === "in") return markAt(k, v) === "arrow";
  return graph.kind[k] === 0 && graph.tail[k] === v;
}

/** Edges of v that the filters let through. */
function filteredEdges(v) {
  return edgesOf(v).filter((k) => passes(k) && (v !== state.node || goesTheWay(k, v)));
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
    const passing = [], linked = new Uint8Array(graph.nodes);
    for (let k = 0; k < graph.m; k++) if (passes(k)) { passing.push(k); linked[graph.tail[k]] = linked[graph.head[k]] = 1; }
    // a variable that has lost all of its edges goes; one that never had any stays unless a filter is about edges
    const f = state.filter, alone = f.p === Infinity && !f.stability && !f.kinds.includes(false) && !(f.groups && f.groups.includes(false));
    state.nodes = [];
    for (let v = 0; v < graph.nodes; v++) if (linked[v] || (alone && inDegree(v) && !edgesOf(v).length)) state.nodes.push(v);
    state.linked = passing;
    state.edges = state.node === null ? passing : passing.filter((k) => !touches(k, state.node) || goesTheWay(k, state.node));
    const wanted = state.filters.length ? JSON.stringify({ ...state.filter, way: null }) : "";
    if (wanted !== state.arranged) state.filtered = wanted ? placeAgain(state.nodes, passing) : null;
    state.arranged = wanted;
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
  for (const v of shown) for (const k of edgesOf(v)) if (shown.has(other(k, v)) && passes(k)) edges.add(k);
  state.linked = Array.from(edges).sort((a, b) => a - b);
  state.edges = state.linked.filter((k) => state.node === null || !touches(k, state.node) || goesTheWay(k, state.node));
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

function showAll() { state.near = false; recompute(); }

function select(v) { state.node = v; state.pair = null; }
function selectPair(a, b) { state.pair = [a, b]; }

/** Removed pairs that the table lists: positions in graph.removed. */
function removedInScope() {
  if (state.node !== null) return graph.removed.of[state.node];
  return state.near ? removedAmong() : Array.from(graph.removed.x, (_, k) => k);
}

/** Removed pairs among the variables that are drawn. */
function removedAmong() {
  const shown = new Set(state.nodes), { x, y } = graph.removed;
  return state.nodes.flatMap((v) => graph.removed.of[v].filter((k) => x[k] === v && shown.has(y[k])));
}
