"use strict";
// Files of what is shown: the picture as SVG and PNG, the table as CSV; and the places of variables in the link.

/** A context of a canvas that writes SVG; it has what view.js and boxes.js draw with. */
class SvgContext {
  constructor(width, height) {
    Object.assign(this, { width, height, parts: [], path: "", dash: [], globalAlpha: 1, lineWidth: 1, fillStyle: "#000", strokeStyle: "#000", font: font(12), textAlign: "start", textBaseline: "middle" });
  }
  setTransform() {}
  setLineDash(dash) { this.dash = dash; }
  measureText(text) { const c = view.canvas.getContext("2d"); c.font = this.font; return c.measureText(text); }
  beginPath() { this.path = ""; }
  moveTo(x, y) { this.path += `M${short(x)} ${short(y)}`; }
  lineTo(x, y) { this.path += `L${short(x)} ${short(y)}`; }
  closePath() { this.path += "Z"; }
  arc(x, y, r) { this.path += `M${short(x - r)} ${short(y)}a${short(r)} ${short(r)} 0 1 0 ${short(2 * r)} 0a${short(r)} ${short(r)} 0 1 0 ${short(-2 * r)} 0`; }
  roundRect(x, y, w, h, r) {
    const c = `a${short(r)} ${short(r)} 0 0 1 `;
    this.path += `M${short(x + r)} ${short(y)}h${short(w - 2 * r)}${c}${short(r)} ${short(r)}v${short(h - 2 * r)}${c}${short(-r)} ${short(r)}h${short(2 * r - w)}${c}${short(-r)} ${short(-r)}v${short(2 * r - h)}${c}${short(r)} ${short(-r)}Z`;
  }
  fillRect(x, y, w, h) { this.parts.push(`<rect x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}" fill="${this.fillStyle}"/>`); }
  fill() { this.add(`fill="${this.fillStyle}"`); }
  stroke() { this.add(`fill="none" stroke="${this.strokeStyle}" stroke-width="${short(this.lineWidth)}"${this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : ""}`); }
  add(look) { if (this.path) this.parts.push(`<path d="${this.path}" ${look}${this.opacity()}/>`); }
  opacity() { return this.globalAlpha < 1 ? ` opacity="${short(this.globalAlpha)}"` : ""; }
  fillText(text, x, y) {
    const [, weight, size] = /^(600 )?([\d.]+)px/.exec(this.font), anchor = this.textAlign === "center" ? "middle" : "start";
    this.parts.push(`<text x="${short(x)}" y="${short(y + 0.35 * size)}" font-size="${short(Number(size))}"${weight ? ' font-weight="600"' : ""} text-anchor="${anchor}" fill="${this.fillStyle}"${this.opacity()}>${escaped(text)}</text>`);
  }
  text() {
    const size = `width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="system-ui, DejaVu Sans, Arial, sans-serif"><title>${escaped(data.title)}</title>${this.parts.join("\n")}</svg>\n`;
  }
}

function short(x) { return String(Math.round(x * 100) / 100); }

/** Text of XML, without the characters that XML does not allow. */
function escaped(text) {
  return text.replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "?").replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);
}

/** The picture as it is shown, in light colours. */
function svgOfPicture() {
  const c = new SvgContext(view.width, view.height);
  inLight(() => drawOn(c));
  return c.text();
}

/** The table as it is sorted and filtered. */
function csvOfTable() {
  const cell = (value) => { const text = String(value); return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text; };
  const rows = table.rows.map((k) => columns().map(([, value]) => cell(value(k))).join(","));
  return [columns().map(([title]) => cell(title || "edge")).join(","), ...rows, ""].join("\r\n");
}

function saveAs(name, blob) {
  const link = el("a", { download: name }), address = URL.createObjectURL(blob);
  link.setAttribute("href", address);
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function setUpSaving() {
  const file = (data.name || data.title).replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 60) || "graph";
  byId("save-svg").onclick = () => saveAs(`${file}.svg`, new Blob([svgOfPicture()], { type: "image/svg+xml" }));
  byId("save-png").onclick = () => {
    inLight(() => draw(3));
    view.canvas.toBlob((blob) => { saveAs(`${file}.png`, blob); draw(); });
  };
  byId("save-csv").onclick = () => saveAs(`${file}-${table.removed ? "removed" : "edges"}.csv`, new Blob([csvOfTable()], { type: "text/csv" }));
}

// places to which variables of the whole graph were dragged: Map v -> [x, y]; of boxes all places, in pixels at scale 1
const moved = { boxes: new Map(), dots: new Map() };

/** Move a variable by some pixels of the picture. */
function moveBy(v, dx, dy) {
  const [x, y] = position(v), at = [x + dx / (view.scale * view.stretch), y + dy / view.scale];
  if (boxed.on) {
    boxed.places.set(v, at);
    const own = state.linked.filter((k) => touches(k, v)), boxes = new Map(boxed.nodes.map((u) => [u, [...boxed.places.get(u), ...boxed.sizes.get(u)]]));
    for (const [k, points] of routesBetween(boxes, own)) boxed.routes.set(k, points);
  } else if (state.near) state.places.set(v, at);
  else if (state.filtered) state.filtered.set(v, at);
  else [graph.x[v], graph.y[v]] = at;
}

/** After a variable was moved: the other edges give way, and the link keeps the places of the whole graph. */
function keepPlaces(v) {
  if (boxed.on) routeBoxes();
  if (state.near || state.filters.length) return;
  if (boxed.on) moved.boxes = new Map(boxed.nodes.map((u) => [u, boxed.places.get(u)]));
  else moved.dots.set(v, position(v));
  const kept = boxed.on ? moved.boxes : moved.dots, digits = boxed.on ? 0 : 3;
  setLink(`${boxed.on ? "boxes" : "dots"}=${Array.from(kept, ([u, [x, y]]) => `${u}:${Number(x.toFixed(digits))}:${Number(y.toFixed(digits))}`).join(";")}`);
  byId("places").disabled = false;
}

function setLink(text) {
  try { history.replaceState(null, "", `#${text}`); } catch { /* a frame without an address of its own keeps no link */ }
}

/** Take the places from the link. */
function readLink() {
  const found = /^#(boxes|dots)=([\d:;.e-]+)$/.exec(location.hash);
  if (!found) return;
  for (const one of found[2].split(";")) {
    const [v, x, y] = one.split(":").map(Number);
    if (v >= 0 && v < graph.nodes && Number.isFinite(x) && Number.isFinite(y)) moved[found[1]].set(v, [x, y]);
  }
  if (found[1] === "dots") for (const [v, [x, y]] of moved.dots) { moved.original ||= [graph.x.slice(), graph.y.slice()]; graph.x[v] = x; graph.y[v] = y; }
  byId("places").disabled = false;
}

/** Put all variables where they were before any was moved. */
function resetPlaces() {
  if (moved.original) { graph.x.set(moved.original[0]); graph.y.set(moved.original[1]); }
  moved.boxes.clear();
  moved.dots.clear();
  setLink("");
  byId("places").disabled = true;
  recompute();
  arrange(true);
  update({ fit: true });
}
