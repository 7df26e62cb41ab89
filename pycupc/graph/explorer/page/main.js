"use strict";
// Puts the parts together: what a click, a key, a filter or printing does.

/** Show the state. `fit` shows everything again; `table: false` leaves the table as it is. */
function update({ fit: fitted = false, table: tabled = true } = {}) {
  byId("whole").disabled = !state.near;
  if (arrange() || fitted) fit();
  draw();
  sayMode();
  fillDetails();
  if (tabled) fillTable();
}

/** Say what the picture shows. */
function sayMode() {
  byId("mode").textContent = graph.m && !state.edges.length
    ? "no edge passes the filters"
    : state.near
    ? `${state.nodes.length} variables around ${Array.from(state.grown.keys(), (v) => shortLabel(name(v))).slice(0, 3).join(", ")}${state.grown.size > 3 ? " and others" : ""}; +n: click to add n neighbours`
    : `whole graph: ${state.nodes.length.toLocaleString("en")} variables, ${state.edges.length.toLocaleString("en")} edges${state.edges.length > MANY ? " (undirected ones dashed when you come closer)" : ""}; ${boxed.on ? `arrows point down where they can${namesShown() ? "" : "; come closer (+) to read the names"}` : "neighbours lie near each other, the axes have no unit"}`;
  byId("mode").title = byId("mode").textContent; // where there is not room for all of it
}

/** Show the neighbourhood of v. */
function goTo(v) { startAt(v); update({ fit: true }); }

function filtersChanged() { readFilters(); recompute(); update({ fit: true }); }

/** What a click on the picture, or Enter, does with what it meets. */
function open(found) {
  if (!found) { state.node = state.near ? state.node : null; state.pair = null; recompute(); }
  else if (found.pair) selectPair(...found.pair);
  else if (state.near) { select(found.node); if (hiddenNeighbours(found.node, new Set(state.nodes))) grow(found.node); else recompute(); return update({ fit: true }); }
  else { select(found.node); recompute(); }
  return update();
}

function point(event) {
  const box = view.canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

function setUpPointer() {
  let from = null, moving = false, held = null; // held: the variable that is dragged
  const pointers = new Map();
  const tip = byId("tip");
  view.canvas.onpointerdown = (event) => {
    view.canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, point(event));
    from = point(event);
    moving = pointers.size > 1;
    const found = under(...from);
    held = !moving && found && found.node !== undefined ? found.node : null;
  };
  view.canvas.onpointermove = (event) => {
    const [x, y] = point(event);
    if (pointers.has(event.pointerId)) {
      const before = pointers.get(event.pointerId);
      pointers.set(event.pointerId, [x, y]);
      if (pointers.size === 2) { // two fingers
        const still = Array.from(pointers.entries()).find(([id]) => id !== event.pointerId)[1];
        zoom(Math.hypot(x - still[0], y - still[1]) / Math.max(1, Math.hypot(before[0] - still[0], before[1] - still[1])), ...still);
      } else if (moving || Math.hypot(x - from[0], y - from[1]) > 4) {
        moving = true;
        if (held !== null) moveBy(held, x - before[0], y - before[1]);
        else { view.x += x - before[0]; view.y += y - before[1]; }
      }
      if (moving) drawSoon();
      tip.hidden = true;
      return;
    }
    const found = under(x, y);
    view.canvas.style.cursor = found ? "pointer" : "grab";
    tip.hidden = !found;
    if (!found) return;
    tip.textContent = found.pair ? why(...found.pair).title : `${name(found.node)}: ${edgesText(graph.degree[found.node])}`;
    tip.style.left = `${Math.min(x + 14, view.width - 220)}px`;
    tip.style.top = `${y + 16}px`;
  };
  view.canvas.onpointerup = view.canvas.onpointercancel = (event) => {
    pointers.delete(event.pointerId);
    if (moving && held !== null) { keepPlaces(held); held = null; drawSoon(); }
    if (!moving && from && event.type === "pointerup") open(under(...point(event)));
    if (!pointers.size) from = null;
  };
  view.canvas.onpointerleave = () => { tip.hidden = true; };
  view.canvas.ondblclick = (event) => { const found = under(...point(event)); if (found && found.node !== undefined) goTo(found.node); };
  view.canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(Math.exp(-event.deltaY / 400), ...point(event)); drawSoon(); }, { passive: false });
}

/** Keys on the picture; the letters work everywhere but in a field. */
function setUpKeys() {
  const pan = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
  const steps = {
    "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3), 0: fit,
    n: () => walk(1), p: () => walk(-1),
    Enter: () => { if (state.node !== null) { if (state.near) open({ node: state.node }); else goTo(state.node); } },
    w: () => { showAll(); update({ fit: true }); },
    Escape: () => { state.node = state.pair = null; recompute(); update(); },
  };
  document.onkeydown = (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === "/") { byId("search").focus(); event.preventDefault(); return; }
    if (event.target.id === "rows" || (event.key === "Enter" && event.target.tagName === "BUTTON")) return;
    if (event.key in pan && event.shiftKey && event.target === view.canvas && state.node !== null && position(state.node)) {
      moveBy(state.node, ...pan[event.key].map((step) => -step / 4));
      keepPlaces(state.node);
      draw();
    } else if (event.key in pan && event.target === view.canvas) { view.x += pan[event.key][0]; view.y += pan[event.key][1]; draw(); }
    else if (event.key in steps) { steps[event.key](); draw(); }
    else return;
    event.preventDefault();
  };
  byId("rows").onkeydown = (event) => {
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 };
    if (!(event.key in moves)) return;
    event.preventDefault();
    openRow(Math.max(0, Math.min(table.rows.length - 1, table.active + moves[event.key])));
  };
}

/** Select the next variable among those beside the selected one; without a selection, the one with most edges. */
function walk(step) {
  if (!state.nodes.length) return;
  if (state.node === null) select(state.nodes.reduce((best, v) => (graph.degree[v] > graph.degree[best] ? v : best), state.nodes[0]));
  else {
    if (walk.from === undefined || walk.at !== state.node) { walk.from = state.node; walk.i = -1; }
    const beside = filteredEdges(walk.from).map((k) => other(k, walk.from)).filter((v) => !state.near || state.places.has(v));
    if (!beside.length) return;
    walk.i = (walk.i + step + beside.length) % beside.length;
    select(beside[walk.i]);
  }
  walk.at = state.node;
  recompute();
  update();
}

function setUpFilters() {
  byId("filters").onsubmit = (event) => event.preventDefault();
  for (const field of byId("filters").querySelectorAll("input, select")) field.onchange = filtersChanged; // also of groups
  byId("low").oninput = byId("high").oninput = byId("most-p").oninput = filtersChanged;
  byId("reset").onclick = () => { resetFilters(); filtersChanged(); };
  byId("p-row").hidden = !graph.p;
  byId("list-removed").parentElement.hidden = !graph.p;
  byId("stability-row").hidden = !graph.stability;
}

function setUpSearch() {
  searchField(byId("search"), byId("found"), goTo);
  const pair = [null, null];
  ["one", "two"].forEach((id, i) => searchField(byId(id), byId(`${id}-found`), (v) => {
    pair[i] = v;
    if (pair[0] === null || pair[1] === null || pair[0] === pair[1]) return;
    state.node = null;
    selectPair(...pair);
    recompute();
    update();
  }));
}

/** The groups for the legend. */
function groupLegend() {
  return (data.groups || []).map((group, i) => {
    const [fill, line, darkFill, darkLine, form] = GROUPS[i % GROUPS.length], light = COLOURS.paper === LIGHT.paper;
    const shape = form === "cut" ? svg("path", { d: "M4 1H18L21 4V10L18 13H4L1 10V4Z" }) : svg("rect", { x: 1, y: 1, width: 20, height: 12, rx: form === "square" ? 0 : form === "pill" ? 6 : 3 });
    shape.setAttribute("fill", light ? fill : darkFill);
    shape.setAttribute("stroke", light ? line : darkLine);
    return el("span", { id: `legend-group${i}` }, svg("svg", { width: 22, height: 14, "aria-hidden": "true" }, shape), group);
  });
}

function setUpGroups() {
  byId("groups").hidden = !graph.group;
  if (!graph.group) return;
  const there = new Set(graph.group);
  ["without a group", ...data.groups].forEach((group, i) => {
    byId("groups").append(el("label", there.has(i) ? {} : { hidden: "" }, el("input", { type: "checkbox", checked: "", id: `group${i}` }), ` ${group}`));
  });
}

/** The colours of the screen: dark where the reader's system is dark. */
function setUpColours() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const choose = () => { Object.assign(COLOURS, dark.matches ? DARK : LIGHT); };
  choose();
  dark.onchange = () => { choose(); setUpLegend(true); draw(); };
}

/** The kinds of edges that the legend and the filters show, and what the legend says of the width of lines and of bars across them. */
function setUpLegend(again = false) {
  const legend = [], filters = [];
  KINDS.forEach((kind, i) => {
    const { width, dash } = STYLES[i], colour = COLOURS.kinds[i], [first, second] = MARKS[i], shown = graph.kinds[i] ? {} : { hidden: "" };
    const ends = [[first, 1, 1], [second, 39, -1]].map(([mark, x, way]) => (mark === "circle"
      ? svg("circle", { cx: x + 3.5 * way, cy: 5, r: 3.5, stroke: colour })
      : svg("path", { d: mark ? `M${x} 5l${9 * way}-4v8z` : "", fill: colour, stroke: "none" })));
    const line = svg("path", { d: `M${first ? 8 : 1} 5H${second ? 32 : 39}`, stroke: colour, "stroke-width": width, "stroke-dasharray": dash.join(" ") });
    legend.push(el("span", { id: `legend-${kindId(kind)}`, ...shown }, svg("svg", { width: 40, height: 10, "aria-hidden": "true" }, line, ...ends), kind));
    filters.push(el("label", shown, el("input", { type: "checkbox", id: kindId(kind), checked: "" }), ` ${kind}`));
  });
  document.querySelectorAll("#legend > [id^=legend-]").forEach((old) => old.remove());
  byId("legend").prepend(...legend, ...groupLegend());
  if (again) return;
  byId("way").parentElement.before(...filters);
  byId("strength").hidden = !graph.strength;
  byId("negative").hidden = !graph.strength || graph.strength.name === "stability";
  if (graph.strength) byId("strength").lastElementChild.textContent = `${graph.strength.name} below ${graph.strength.limits.join(", up to ")}, above`;
}

function fold() {
  const rows = byId("rows");
  rows.hidden = !rows.hidden;
  byId("fold").textContent = rows.hidden ? "Show table" : "Hide table";
  byId("fold").setAttribute("aria-expanded", String(!rows.hidden));
}

function setUpPrint() {
  window.onbeforeprint = () => { inLight(() => draw(3)); fillRows(true); };
  window.onafterprint = () => { draw(); fillRows(); };
}

function start() {
  document.title = `${data.name ? `${data.name}: ` : ""}${data.title} – pycupc`;
  byId("title").textContent = data.name || data.title;
  byId("facts").textContent = data.name ? `${data.title}: ${data.facts}` : data.facts;
  byId("foot").textContent = data.foot;
  byId("note").textContent = data.note;
  byId("note").hidden = !data.note;
  byId("removed-note").textContent = data.removed.note;
  setUpColours();
  setUpLegend();
  setUpGroups();
  setUpSaving();
  setUpPointer();
  setUpKeys();
  setUpFilters();
  setUpSearch();
  setUpPrint();
  byId("fold").onclick = fold;
  if (window.parent !== window && window.innerHeight < 800) fold(); // in a frame of another page the picture needs the room
  byId("whole").onclick = () => { showAll(); update({ fit: true }); };
  byId("closer").onclick = () => { zoom(1.3); draw(); sayMode(); };
  byId("farther").onclick = () => { zoom(1 / 1.3); draw(); sayMode(); };
  byId("fit").onclick = () => { fit(); draw(); sayMode(); };
  byId("print").onclick = () => window.print();
  for (const id of ["list-edges", "list-removed"]) byId(id).onchange = () => { table.removed = byId("list-removed").checked; table.sort = null; fillTable(); };
  byId("rows").onscroll = () => fillRows();
  new ResizeObserver(() => { const { width, height } = view; resize(); if (Math.abs(width - view.width) + Math.abs(height - view.height) > 30) { arrange(true); fit(); } draw(); fillRows(); }).observe(view.canvas);
  byId("places").onclick = resetPlaces;
  readLink();
  readFilters(); // a browser may have kept what the fields held before the page was loaded again
  recompute();
  if (data.start !== null) startAt(data.start);
  update({ fit: true });
  performance.mark("drawn");
}

start();
