"use strict";
// The graph and the evidence: reads the block of data, and answers what is adjacent to what, and why.
// Everything here is plain numbers and texts; no label is ever put into the page as markup.

// the entries of `Content` in pycupc/graph/explorer/write.py, with the ends, kinds and positions of its graph
const data = JSON.parse(document.getElementById("data").textContent, (_, value) => (value && value.base64 !== undefined ? unpack(value) : value));

/** A typed array from {type, base64}. */
function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed.base64), (byte) => byte.charCodeAt(0));
  const kinds = { uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, float32: Float32Array, float64: Float64Array };
  return new kinds[packed.type](bytes.buffer);
}

// the kinds of edges, as pycupc/graph/sparse.py lists them, with their marks at tail and head and their signs from either
const KINDS = ["directed", "undirected", "bidirected", "partially directed", "nondirected", "partially undirected"];
const MARKS = [["", "arrow"], ["", ""], ["arrow", "arrow"], ["circle", "arrow"], ["circle", "circle"], ["circle", ""]];
const SIGNS = ["→", "—", "↔", "o→", "o—o", "o—"], TURNED = ["←", "—", "↔", "←o", "o—o", "—o"];

const graph = (() => {
  // of the `nodes` variables that are drawn; further labels are only named in separating sets
  const g = { ...data, p: data.edge_p, r: data.edge_r, tests: data.edge_tests, level: data.edge_level, gaps: new Set() };
  g.untested = new Map(data.untested.map(([a, b, ...observations]) => [pairKey(a, b), observations])); // needed, and there
  g.m = g.tail.length;
  g.kinds = KINDS.map((_, i) => i < 3 || g.kind.includes(i)); // which are shown: those with circles only where there are some
  // how thick the line of an edge is: a value, its limits between thin, medium and thick, and its name
  if (g.r && g.r.some((r) => !Number.isNaN(r))) g.strength = { of: (k) => Math.abs(g.r[k]), limits: [0.3, 0.6], name: "correlation |r|" };
  else g.strength = g.stability ? { of: (k) => g.stability[k], limits: [0.7, 0.9], name: "stability" } : null;
  // the edges of each node, smallest p or most stable first
  const order = Array.from({ length: g.m }, (_, k) => k).sort((a, b) => (g.p ? g.p[a] - g.p[b] : g.stability[b] - g.stability[a]) || a - b);
  g.edgesOf = Array.from({ length: g.nodes }, () => []);
  for (const k of order) { g.edgesOf[g.tail[k]].push(k); g.edgesOf[g.head[k]].push(k); }
  g.edgeOf = new Map();
  for (let k = 0; k < g.m; k++) g.edgeOf.set(pairKey(g.tail[k], g.head[k]), k);
  for (let k = 0; k < data.gaps.length; k += 2) g.gaps.add(pairKey(data.gaps[k], data.gaps[k + 1]));
  // removed pairs by pair and by node, and their sets, which have as many members as their level
  const gone = Object.assign(g.removed, { number: new Map(), of: g.edgesOf.map(() => []), sets: [] });
  for (let k = 0, end = 0; k < gone.x.length; k++) {
    gone.number.set(pairKey(gone.x[k], gone.y[k]), k);
    gone.of[gone.x[k]].push(k);
    gone.of[gone.y[k]].push(k);
    gone.sets.push(gone.members.subarray(end, end += gone.level[k]));
  }
  return g;
})();

function pairKey(a, b) { return a < b ? a * 65536 + b : b * 65536 + a; }
function name(v) { return graph.labels[v]; }
function other(k, v) { return graph.tail[k] === v ? graph.head[k] : graph.tail[k]; }
function edgesOf(v) { return graph.edgesOf[v]; }

/** Sign of edge k as seen from node v: what stands between v and the other end. */
function signFrom(k, v) { return (graph.tail[k] === v ? SIGNS : TURNED)[graph.kind[k]]; }

/** The mark of edge k at its end v. */
function markAt(k, v) { return MARKS[graph.kind[k]][Number(graph.tail[k] !== v)]; }

/** Complementary error function; Numerical Recipes' erfcc, relative error below 1.2e-7. */
function erfc(x) {
  const t = 1 / (1 + 0.5 * Math.abs(x));
  const c = [-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277];
  const value = t * Math.exp(-x * x + c.reduceRight((sum, a) => sum * t + a));
  return x >= 0 ? value : 2 - value;
}

/** Two-sided p-value of Fisher's z of a partial correlation given `level` variables. */
function pValue(r, level) {
  const df = data.n - level - 3;
  if (!(df > 0) || Number.isNaN(r)) return 1;
  return erfc(Math.sqrt(df / 2) * Math.abs(Math.atanh(Math.max(-0.9999999, Math.min(0.9999999, r)))));
}

function removedP(k) {
  const { r, p, level } = graph.removed;
  return r ? pValue(r[k], level[k]) : p ? p[k] : NaN;
}

function marginal(a, b) {
  if (!graph.correlations) return null;
  const i = Math.min(a, b), j = Math.max(a, b);
  return graph.correlations[i * graph.nodes - (i * (i + 1)) / 2 + (j - i - 1)];
}

function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "not known";
  if (value === 0) return "0";
  return String(Number(value.toPrecision(digits)));
}
/** A value of `data.columns`, a number or a text. */
function cellText(value) { return typeof value === "string" ? value : number(value); }
function pText(p) { return p === 0 ? "< 1e-300" : number(p); }
function marginText(m) { return Number.isFinite(m) ? (m < 1e-7 ? "< 1e-7" : number(m)) : "not known"; }
function setText(members) { return members.length ? "{" + Array.from(members, name).join(", ") + "}" : "the empty set"; }

/** What set a mark, as a sentence; `reason` is [end, rule, variable, ...], the rest as pycupc's trace has it. */
function reasonText([, rule, ...v]) {
  const [a, b, c, d] = v.map(name);
  if (data.pag && rule !== "collider") return `Set by ${rule.replace(/^R/, "FCI's rule ")}, from ${v.map(name).join(", ")}.`;
  if (rule === "collider") return `Collider ${a} → ${b} ← ${c}: ${a} and ${c} are not adjacent, and the set that separates them does not contain ${b}.`;
  if (rule === "R1") return `Meek's rule 1: ${a} → ${b} is known and ${a} is not adjacent to ${c}; ${c} → ${b} would make another collider, so ${b} → ${c}.`;
  if (rule === "R2") return `Meek's rule 2: ${a} → ${b} → ${c} is known; ${c} → ${a} would close a cycle, so ${a} → ${c}.`;
  if (rule === "R3") return `Meek's rule 3: ${b} → ${d} and ${c} → ${d}, both joined to ${a}; ${d} → ${a} would make a cycle or a collider, so ${a} → ${d}.`;
  if (rule === "R4") return `Meek's rule 4: ${b} → ${c} → ${d}, ${b} and ${c} joined to ${a}, ${b} and ${d} not adjacent; ${d} → ${a} would make a cycle or a collider, so ${a} → ${d}.`;
  if (v.length === 2) return `Known before the tests (${rule}): ${a} → ${b}.`;
  return `Set by ${rule} of ${v.map(name).join(", ")}.`;
}

/** Why the removed pair was not tested; "" if it was. */
function fewText(a, b) {
  const few = graph.untested.get(pairKey(a, b));
  return few ? `not enough data: ${few[0].toLocaleString("en")} observations needed, ${few[1].toLocaleString("en")} there` : "";
}

/** The evidence for or against the edge between a and b: {title, status, text, facts: [[name, value]], nodes}. */
function why(a, b) {
  const k = graph.edgeOf.get(pairKey(a, b)), at = graph.removed.number.get(pairKey(a, b)), { complete_from } = data.removed;
  if (k !== undefined) return whyKept(k);
  if (!graph.p) return noEdge(a, b, "Adjacent in too few of the resamples. Stability.edges() in Python, or edges.csv, has the share of every pair.");
  if (graph.gaps.has(pairKey(a, b))) return noEdge(a, b, "fixedGaps excludes this edge; it was never tested.");
  if (at !== undefined) return whyRemoved(at);
  if (data.edges_left_out) return { ...noEdge(a, b, "This page holds only a part of the edges. In Python, fit.why() answers for every pair."), status: "not known here" };
  if (complete_from > 1) return noEdge(a, b, `Removed at level ${complete_from - 1} or earlier. This page lists the removed pairs that came closest to staying; in Python, fit.why() answers for every pair.`);
  const r = marginal(a, b);
  return whyGone(a, b, { level: 0, members: [], r, p: r === null ? null : pValue(r, 0) });
}

function noEdge(a, b, text, facts = [], nodes = []) { return { title: `${name(a)} and ${name(b)}`, status: "no edge", text, facts, nodes }; }

function whyRemoved(k) {
  const { x, y, level, r, sets } = graph.removed;
  const later = k >= x.length - data.removed.after_levels; // by a set whose members need not be neighbours
  return whyGone(x[k], y[k], { level: level[k], members: sets[k], r: r ? r[k] : null, p: removedP(k), later });
}

/** The test of a and b given `members` that removed their edge; its r and p are null if they are not known. */
function whyGone(a, b, { level, members, r, p, later = false }) {
  const few = fewText(a, b), cutoff = data.cutoffs[level], set = setText(members), when = later ? "after the levels" : `at level ${level}`;
  const facts = [["level", later ? when : String(level)], ["separating set", set]];
  if (level && !later) facts.push(["side", `${a < b ? "A" : "B"}: neighbours of ${name(a)}`]);
  if (r !== null) facts.push([level ? "partial correlation r" : "correlation r", number(r, 4)]);
  if (few || p !== null) facts.push(["p-value", few || pText(p)]);
  if (cutoff) facts.push(["largest |r| judged independent", number(cutoff, 4)]);
  if (cutoff && r !== null) facts.push(["margin (cutoff − |r|)", marginText(Math.max(0, cutoff - Math.abs(r)))]);
  const text = few ? ` without a test${level ? ` given ${set}` : ""}: ${few}` : `: independent ${level ? `given ${set}` : "without conditioning on anything"}`;
  return noEdge(a, b, `Removed ${when}${text}.`, facts, Array.from(members).filter((v) => v < graph.nodes));
}

function whyKept(k) {
  const a = graph.tail[k], b = graph.head[k];
  const facts = [["type", KINDS[graph.kind[k]]]];
  if (!graph.p) {
    const marks = { directed: `${name(a)} → ${name(b)}`, reversed: `${name(b)} → ${name(a)}` };
    for (const [end, v] of [["from", a], ["to", b]]) for (const mark of ["circle", "arrow", "tail"]) marks[`${end}_${mark}`] = `${mark} at ${name(v)}`;
    for (const [mark, share] of Object.entries(graph.shares)) facts.push([`share of the resamples: ${marks[mark] || mark}`, number(share[k])]);
    return { title: `${name(a)} ${SIGNS[graph.kind[k]]} ${name(b)}`, status: "edge", text: "The two variables are adjacent in enough of the resamples.", facts, nodes: [] };
  }
  const p = graph.p[k];
  let text = "The edge was kept: no tested set makes the two variables independent.";
  if (p < 0) text = "fixedEdges requires this edge; it was never tested.";
  else {
    const levels = graph.level[k] ? `at levels 0 to ${graph.level[k]}` : "at level 0";
    facts.push(["tests survived", `${graph.tests[k].toLocaleString("en")}, ${levels}`], ["largest p-value of its tests", pText(p)]);
    if (data.alpha) facts.push(["margin (alpha − p)", `${number(data.alpha - p)} (alpha = ${data.alpha})`]);
  }
  if (graph.r && !Number.isNaN(graph.r[k])) facts.push(["correlation r (no conditioning)", number(graph.r[k], 4)]);
  for (const [title, values] of Object.entries(data.columns)) facts.push([title, cellText(values[k])]);
  if (graph.stability) facts.push(["stability frequency", number(graph.stability[k])]);
  const reasons = data.reasons[k] || [];
  for (const reason of reasons) facts.push([data.pag ? `${markAt(k, reason[0]) ? "arrowhead" : "tail"} at ${name(reason[0])}` : "arrow", reasonText(reason)]);
  if (!data.pag && !reasons.length && graph.kind[k] === 1) facts.push(["arrow", "none: the data do not determine the direction"]);
  for (const v of [a, b]) if (markAt(k, v) === "circle") facts.push([`circle at ${name(v)}`, "arrowhead or tail: the data do not determine which"]);
  return { title: `${name(a)} ${SIGNS[graph.kind[k]]} ${name(b)}`, status: "edge", text, facts, nodes: [] };
}
