"use strict";
// Colours, light and dark, and the forms of edges and of groups.

const LIGHT = { ink: "#10202e", onChosen: "#10202e", paper: "#ffffff", grey: "#5b6b7a", dot: "#dce6ee", box: "#f3f6f9", chosen: "#f2c14e", mark: "#e39b00", grown: "#9db8cc", kinds: ["#1d3d5c", "#8a5a00", "#b3261e", "#1b6e4b", "#6a4c93", "#a4337f"] };
const DARK = { ink: "#e6edf3", onChosen: "#10202e", paper: "#10171d", grey: "#8fa1b1", dot: "#2b3b48", box: "#1d2a34", chosen: "#f2c14e", mark: "#e39b00", grown: "#3f5f78", kinds: ["#9cc3e6", "#e0b05c", "#ff8a80", "#7fd1ae", "#c0a6ea", "#f0a3d0"] };
const COLOURS = { ...LIGHT };
// of groups: fill and outline in light and dark colours, and the form of a box, as pycupc/graph/drawing/look.py
const GROUPS = [["#cfe3f5", "#0072b2", "#143a55", "#6bb6e8", "round"], ["#fbe0c8", "#b34700", "#4d2a10", "#f0a06a", "square"], ["#d3eedd", "#00704f", "#123f30", "#6fd0a8", "pill"], ["#f3d9ea", "#9b2f79", "#47203b", "#e08cc4", "cut"],
  ["#fdf3bf", "#8a7400", "#453c0c", "#e3cc5a", "round"], ["#e3e3e3", "#444444", "#3a3a3a", "#bdbdbd", "square"], ["#d6f1f7", "#00788f", "#0f3d47", "#68c6da", "pill"], ["#ead9f7", "#6a3fa0", "#35224f", "#b795e6", "cut"]];
// the kinds differ in form as well as in colour, so that they remain distinct without colours
const STYLES = [
  { width: 1.3, dash: [] },
  { width: 1.5, dash: [6, 4] },
  { width: 2.6, dash: [] },
  { width: 1.3, dash: [] },
  { width: 1.3, dash: [] },
  { width: 1.3, dash: [] },
];

/** The fill, outline and form of the group of v; null without a group. */
function groupLook(v) {
  const k = graph.group ? graph.group[v] : 0;
  if (!k) return null;
  const [fill, line, darkFill, darkLine, form] = GROUPS[(k - 1) % GROUPS.length];
  return COLOURS.paper === LIGHT.paper ? { fill, line, form } : { fill: darkFill, line: darkLine, form };
}

/** Do something in light colours, as on paper. */
function inLight(action) {
  const before = { ...COLOURS };
  Object.assign(COLOURS, LIGHT);
  action();
  Object.assign(COLOURS, before);
}
