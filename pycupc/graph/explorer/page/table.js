"use strict";
// The table of edges, or of removed pairs, that follows the selection. Only the rows in sight are in the page.

const ROW = 26; // pixels

const table = { removed: false, rows: [], sort: null, down: false, active: -1 };

const EDGE_COLUMNS = [
  ["from", (k) => name(graph.tail[k])],
  ["", (k) => SIGNS[graph.kind[k]]],
  ["to", (k) => name(graph.head[k])],
  ["type", (k) => KINDS[graph.kind[k]]],
  ...(graph.p ? [["p", (k) => graph.p[k], (p) => (p < 0 ? "not tested" : pText(p))]] : []),
  ...(graph.r ? [["r", (k) => graph.r[k], (r) => number(r)]] : []),
  ...Object.entries(data.columns).map(([title, values]) => [title, (k) => values[k], cellText]),
  ...(graph.stability ? [["stability", (k) => graph.stability[k], (s) => number(s)]] : []),
  ...(graph.p ? [[data.pag ? "marks set by" : "arrow set by", (k) => (data.reasons[k] || []).map(([, rule]) => rule).join(", ")]] : []),
];

const REMOVED_COLUMNS = [
  ["x", (k) => name(graph.removed.x[k])],
  ["y", (k) => name(graph.removed.y[k])],
  ["level", (k) => graph.removed.level[k], String],
  ["separating set", (k) => setText(graph.removed.sets[k])],
  ...(graph.removed.r ? [["r", (k) => graph.removed.r[k], (r) => number(r)]] : []),
  ["p", removedP, pText],
  ...(graph.untested.size ? [["note", (k) => fewText(graph.removed.x[k], graph.removed.y[k])]] : []),
];

function columns() { return table.removed ? REMOVED_COLUMNS : EDGE_COLUMNS; }

function pairOfRow(k) {
  return table.removed ? [graph.removed.x[k], graph.removed.y[k]] : [graph.tail[k], graph.head[k]];
}

/** Fill the table with what belongs to the selection. */
function fillTable() {
  table.rows = (table.removed ? removedInScope() : state.node === null ? state.edges : filteredEdges(state.node)).slice();
  if (table.sort !== null) {
    const value = columns()[table.sort][1], sign = table.down ? -1 : 1;
    const keys = new Map(table.rows.map((k) => [k, value(k)]));
    table.rows.sort((a, b) => {
      const u = keys.get(a), v = keys.get(b);
      return sign * (typeof u === "string" ? u.localeCompare(v) : u - v) || a - b;
    });
  }
  table.active = state.pair ? table.rows.findIndex((k) => pairKey(...pairOfRow(k)) === pairKey(...state.pair)) : -1;
  const what = table.removed ? "removed pairs" : "edges";
  const of = table.removed ? graph.removed.x.length : graph.m;
  const scope = state.node !== null ? `of ${shortLabel(name(state.node))}` : state.near ? "of the neighbourhood shown" : "of the whole graph";
  byId("scope").textContent = `${table.rows.length.toLocaleString("en")} ${what} ${scope} (of ${of.toLocaleString("en")} on this page)`;
  fillHead();
  byId("rows").scrollTop = 0;
  if (table.active >= 0) showRow(table.active);
  fillRows();
}

function fillHead() {
  const cells = columns().map(([title], i) => {
    const button = el("button", { type: "button", onclick: () => { table.down = table.sort === i && !table.down; table.sort = i; fillTable(); } }, title || "edge");
    const way = table.sort === i ? (table.down ? "descending" : "ascending") : "none";
    button.classList.add(way);
    return el("span", { role: "columnheader", "aria-sort": way }, button);
  });
  byId("head").replaceChildren(...cells);
  byId("rows").style.setProperty("--columns", columns().length);
  byId("table").dataset.kind = table.removed ? "removed" : "edges";
}

/** Put the rows in sight into the page; `all` puts up to 400 of them there, for print. */
function fillRows(all = false) {
  const box = byId("rows");
  const first = all ? 0 : Math.max(0, Math.floor(box.scrollTop / ROW) - 5);
  const last = Math.min(table.rows.length, all ? 400 : Math.ceil((box.scrollTop + box.clientHeight) / ROW) + 5);
  const rows = [];
  for (let i = first; i < last; i++) rows.push(rowElement(i));
  const body = byId("body");
  body.style.paddingTop = `${first * ROW}px`;
  body.style.height = all ? "auto" : `${table.rows.length * ROW}px`;
  body.replaceChildren(...rows);
  box.setAttribute("aria-rowcount", table.rows.length);
  if (table.active >= first && table.active < last) box.setAttribute("aria-activedescendant", `row${table.active}`);
  else box.removeAttribute("aria-activedescendant");
}

function rowElement(i) {
  const k = table.rows[i];
  const cells = columns().map(([, value, format]) => {
    const text = format ? format(value(k)) : value(k);
    return el("span", { role: "gridcell", title: text.length > 24 ? text : "" }, text);
  });
  const row = el("div", { role: "row", id: `row${i}`, "aria-rowindex": i + 1, "aria-selected": i === table.active }, ...cells);
  row.onclick = () => openRow(i);
  return row;
}

function openRow(i) {
  if (i < 0 || i >= table.rows.length) return;
  table.active = i;
  showRow(i);
  selectPair(...pairOfRow(table.rows[i]));
  fillRows();
  update({ table: false });
}

/** Scroll so that row i is in sight. */
function showRow(i) {
  const box = byId("rows");
  if (i * ROW < box.scrollTop) box.scrollTop = i * ROW;
  // the head, as high as a row, is above the rows and stays in sight
  if ((i + 2) * ROW > box.scrollTop + box.clientHeight) box.scrollTop = (i + 2) * ROW - box.clientHeight;
}
