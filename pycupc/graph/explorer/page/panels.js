"use strict";
// Search, filters, and what is known of the selection.

function byId(id) { return document.getElementById(id); }

/** An element; texts are always texts, never markup. */
function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on") || key === "className" || key === "title") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** An element of a picture. */
function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, text] of Object.entries(attributes)) made.setAttribute(key, text);
  made.append(...children);
  return made;
}

/** Variables whose label contains the text: equal ones first, then those that begin with it. */
function matches(text, most = 12) {
  const plain = (label) => label.toLowerCase().replace(/\s+/g, " ").trim(); // a field holds no line breaks
  const wanted = plain(text);
  if (!wanted) return [];
  const found = [];
  for (let v = 0; v < graph.nodes; v++) {
    const label = plain(name(v)), at = label.indexOf(wanted);
    if (at >= 0) found.push([at === 0 ? (label === wanted ? 0 : 1) : 2, -graph.degree[v], v]);
  }
  found.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
  return found.slice(0, most).map((f) => f[2]);
}

/** Make an input field and its list a search for a variable; `chosen` is called with what was picked. */
function searchField(input, list, chosen) {
  let found = [], active = -1;
  const show = () => {
    list.replaceChildren(...found.map((v, i) => {
      const item = el("li", { role: "option", id: `${list.id}${i}`, "aria-selected": i === active }, shortLabel(name(v)), el("small", {}, edgesText(graph.degree[v])));
      item.onmousedown = (event) => { event.preventDefault(); pick(v); };
      return item;
    }));
    if (!found.length && input.value.trim()) list.append(el("li", { className: "none" }, "no such variable"));
    list.hidden = !input.value.trim();
    input.setAttribute("aria-expanded", String(!list.hidden));
    if (active >= 0) input.setAttribute("aria-activedescendant", `${list.id}${active}`);
    else input.removeAttribute("aria-activedescendant");
  };
  const pick = (v) => { input.value = shortLabel(name(v)); list.hidden = true; input.setAttribute("aria-expanded", "false"); chosen(v); };
  input.oninput = () => { found = matches(input.value); active = found.length ? 0 : -1; show(); };
  input.onblur = () => { list.hidden = true; };
  input.onkeydown = (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      active = found.length ? (active + (event.key === "ArrowDown" ? 1 : found.length - 1)) % found.length : -1;
      show();
    } else if (event.key === "Enter" && active >= 0) pick(found[active]);
    else if (event.key === "Escape") { input.value = ""; found = []; show(); input.blur(); return; }
    else return;
    event.preventDefault();
  };
}

function edgesText(count) { return `${count.toLocaleString("en")} edge${count === 1 ? "" : "s"}`; }

/** Show what is known of the selected variable or pair. */
function fillDetails() {
  const box = byId("details");
  box.classList.toggle("open", state.pair !== null || state.node !== null); // on a phone, a sheet from below
  if (state.pair) box.replaceChildren(...pairDetails(...state.pair));
  else if (state.node !== null) box.replaceChildren(...nodeDetails(state.node));
  else return box.replaceChildren(el("p", { className: "hint" }, "Search for a variable, or click one in the picture. Click an edge to read why it is there."));
  box.prepend(el("button", { type: "button", id: "close", "aria-label": "close", onclick: () => { state.node = state.pair = null; recompute(); update(); } }, "×"));
  return undefined;
}

function pairDetails(a, b) {
  const found = why(a, b);
  const list = el("dl");
  for (const [term, text] of found.facts) list.append(el("dt", {}, explained(term)), el("dd", {}, text));
  const around = el("p", { className: "buttons" }, ...[a, b, ...found.nodes.filter((v) => v !== a && v !== b)].map((v) => nodeButton(v)));
  return [el("p", { className: found.status === "edge" ? "status" : "status gone" }, found.status), el("h2", {}, found.title), el("p", {}, found.text), list,
    el("p", { className: "hint" }, "Show the neighbourhood of:"), around];
}

// what the terms of an answer mean
const TERMS = [
  [/^separating set/, "Given these variables, the data do not show that the two are dependent. That is why there is no edge between them."],
  [/^level/, "The number of variables that a test was given. Level 0 tests pairs by themselves."],
  [/^side/, "For each pair, sets of neighbours of the first variable (side A) are tried before sets of neighbours of the second (side B)."],
  [/^partial correlation/, "The correlation of the two variables after the linear influence of the separating set is removed."],
  [/^correlation r/, "The correlation of the two variables by themselves: from -1 to 1, 0 without a linear relation."],
  [/^p-value|^largest p-value/, "How likely the data show a relation at least this strong where there is none. The larger it is, the closer the edge came to being removed."],
  [/^largest \|r\|/, "Up to this size a partial correlation counts as zero, at this alpha and number of observations."],
  [/^margin/, "How far the test was from the other decision; a small margin means that a little other data could change it."],
  [/^tests survived/, "Each test asked whether some set separates the two variables. None did."],
  [/^stability|^share of the resamples/, "The share of the resamples of the data in which this was found."],
  [/^arrow/, "What set the arrow: a collider, which is seen in the separating sets, or a rule, which follows from other arrows."],
  [/^circle/, "The data do not determine whether this end of the edge is an arrowhead or a tail."],
  [/^type/, "directed: a cause of the other, if the assumptions hold; undirected: either may be the cause; bidirected: a hidden common cause, or arrows that contradict each other."],
];

/** A term that can be opened to read what it means. */
function explained(term) {
  const meaning = TERMS.find(([pattern]) => pattern.test(term));
  return meaning ? el("details", { className: "term" }, el("summary", {}, term), el("p", {}, meaning[1])) : term;
}

function nodeButton(v) { return button(shortLabel(name(v)), () => goTo(v), name(v)); }

function button(text, onclick, title = "") { return el("button", { type: "button", title, onclick }, text); }

function nodeDetails(v) {
  const edges = edgesOf(v);
  const count = (sign) => edges.filter((k) => signFrom(k, v) === sign).length;
  const names = { "→": "out of it", "←": "into it", "—": "undirected", "↔": "bidirected" }; // edges with circles: their signs
  const parts = [...new Set(["→", "←", ...SIGNS, ...TURNED])].filter(count).map((sign) => `${count(sign)} ${names[sign] || sign}`);
  const shown = new Set(state.nodes), hidden = state.near ? hiddenNeighbours(v, shown) : 0;
  const actions = el("p", { className: "buttons" });
  if (!state.near || !state.grown.has(v) || state.grown.size > 1) actions.append(button("Only its neighbourhood", () => goTo(v)));
  if (hidden) actions.append(button(`Add ${Math.min(hidden, STEP)} neighbours`, () => { grow(v); update({ fit: true }); }));
  const neighbours = el("ul", { className: "neighbours" });
  for (const k of edges.slice(0, 200)) {
    const u = other(k, v);
    const text = `${signFrom(k, v)} ${shortLabel(name(u))}`;
    const known = graph.p ? (graph.p[k] < 0 ? "not tested" : `p = ${pText(graph.p[k])}`) : `in ${number(graph.stability[k])}`;
    neighbours.append(el("li", {}, button(text, () => { selectPair(v, u); update(); }, `why ${name(u)}?`), el("small", {}, known)));
  }
  const total = graph.degree[v] > edges.length ? `${graph.degree[v]} edges, of which this page holds ${edges.length}` : edgesText(edges.length);
  return [el("p", { className: "status" }, "variable"), el("h2", {}, name(v)), el("p", {}, parts.length ? `${total}: ${parts.join(", ")}` : total), actions, ...effectLists(v), ...(graph.effects.value ? [el("h3", {}, "Its edges")] : []), neighbours];
}

const MOST_EFFECTS = 12; // that a list of effects shows

/** Lists of the largest effects of a variable, and of the largest on it. */
function effectLists(v) {
  const { value, low, high, agreement } = graph.effects;
  if (!value) return [];
  const list = (title, at, moves) => {
    const there = Array.from({ length: graph.nodes }, (_, u) => u).filter((u) => u !== v && Math.abs(value[at(u)]) > 0);
    there.sort((a, b) => Math.abs(value[at(b)]) - Math.abs(value[at(a)]) || a - b);
    const shown = there.slice(0, MOST_EFFECTS);
    const size = (k) => Math.max(...[value[k], low[k], high[k]].filter((end) => !Number.isNaN(end)).map(Math.abs));
    const unit = (u) => (data.units && data.units.length ? data.units[u] : ""), units = [...new Set(shown.map(unit))];
    const row = (u, most) => {
      const k = at(u), sure = agreement[k] === 1 && low[k] * high[k] > 0;
      const interval = Number.isNaN(low[k]) ? "" : ` [${number(low[k])}, ${number(high[k])}]`;
      const text = `${number(value[k])}${interval}${agreement[k] === 1 ? "" : ", signs differ"}`;
      return el("li", { className: "effect", "data-unit": unit(u) }, button(shortLabel(name(u)), () => goTo(u), name(u)), effectPicture(value[k], low[k], high[k], most, sure), el("small", {}, text));
    };
    const rows = units.flatMap((one) => { // an axis for each unit: lengths of different units cannot be compared
      const own = shown.filter((u) => unit(u) === one), most = Math.max(...own.map((u) => size(at(u)))), end = number(most, 2);
      const per = one ? (moves ? `${one} per ${unit(v) || "unit"}` : `${unit(v) || "unit"} per ${one}`) : "";
      const axis = el("li", { className: "axis" }, el("small", {}, per), el("small", { className: "ends" }, el("span", {}, `−${end}`), el("span", {}, end)), el("small", {}, ""));
      return [axis, ...own.map((u) => row(u, most))];
    });
    const rest = there.length - shown.length;
    return [el("h3", {}, title), el("ul", { className: "effects" }, ...(rows.length ? rows : [el("li", {}, "nothing for sure")])), ...(rest ? [el("p", { className: "hint" }, `and ${rest} with smaller effects`)] : [])];
  };
  const p = graph.nodes;
  return [...list("What it moves", (u) => v * p + u, true), ...list("What moves it", (u) => u * p + v, false),
    el("p", { className: "hint" }, "The smallest of the possible effects and its interval, given the graph. Filled: the signs of all agree, and the interval excludes 0.")];
}

/** An effect on a line around 0: a dot, filled if it is sure, and its interval. */
function effectPicture(value, low, high, most, sure) {
  const x = (effect) => 36 + 32 * effect / most;
  return svg("svg", { width: 72, height: 14, "aria-hidden": "true" }, svg("path", { class: "zero", d: "M36 0V14" }),
    ...(Number.isNaN(low) ? [] : [svg("path", { class: "interval", d: `M${x(low)} 7H${x(high)}` })]),
    svg("circle", { class: sure ? "sure" : "unsure", cx: x(value), cy: 7, r: 3 }));
}

/** The identity of the filter of a kind of edge, and the class of its line in the legend. */
function kindId(kind) { return kind.replace(" ", "-"); }

/** Read the filters from their fields. */
function readFilters() {
  const value = (id, otherwise) => (byId(id).value.trim() === "" || Number.isNaN(Number(byId(id).value)) ? otherwise : Number(byId(id).value));
  state.filter = {
    p: value("most-p", Infinity),
    low: value("low", 0),
    high: value("high", Infinity),
    kinds: KINDS.map((kind) => byId(kindId(kind)).checked),
    way: byId("way").value,
    stability: value("stability", 0),
    groups: graph.group ? Array.from(document.querySelectorAll("#groups input"), (input) => input.checked) : null, // [without, ...groups]
  };
  state.filters = filtersInUse(state.filter);
}

function resetFilters() {
  for (const id of ["most-p", "low", "high", "stability"]) byId(id).value = "";
  for (const kind of KINDS) byId(kindId(kind)).checked = true;
  for (const input of document.querySelectorAll("#groups input")) input.checked = true;
  byId("way").value = "any";
  readFilters();
}
