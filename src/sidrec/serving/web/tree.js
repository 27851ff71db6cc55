// Candidates as a tree, a column per step: which grew from which, and which were given up.

import { codeChips, count, el, percent, svg } from "./dom.js";

const WIDTH = [300, 760]; // as wide as its place within these, so that words keep their size on a phone
const HEIGHT = 300;
const TOP = 34;
const SIDE = 30;

/** Columns of nodes; each knows its parent in the column before and whether it leads to the end. */
function columnsOf(steps) {
  const root = { rank: 0, parent: null, codes: steps[0].slots.map((slot) => slot.code), probability: 1, won: false, children: 0 };
  const columns = [[root]];
  for (const step of steps) {
    const parents = columns.at(-1);
    columns.push(step.best.map((candidate, rank) => ({ ...candidate, rank, parent: parents[candidate.parent - 1] ?? null, won: false, children: 0 })));
    for (const node of columns.at(-1)) if (node.parent) node.parent.children += 1;
  }
  return columns;
}

function markWinners(columns, n) {
  for (const node of columns.at(-1).slice(0, n)) for (let at = node; at; at = at.parent) at.won = true;
}

/** Draws the steps up to `shown`; `pick` hears of a candidate that is pointed at. */
export function drawTree(place, steps, shown, nListed) {
  const columns = columnsOf(steps);
  markWinners(columns, nListed);
  const width = Math.min(Math.max(place.clientWidth, WIDTH[0]), WIDTH[1]);
  const most = Math.max(...columns.map((column) => column.length), 2);
  const x = (column) => SIDE + (column * (width - 2 * SIDE)) / (columns.length - 1);
  const y = (rank, length) => TOP + ((rank + 0.5 + (length === 1 ? (most - 1) / 2 : 0)) / most) * (HEIGHT - TOP - 6);
  const at = (node, column) => [x(column), y(node.rank, columns[column].length)];
  const edges = svg("g", { class: "edges" });
  const nodes = svg("g", { class: "nodes" });
  const lit = svg("g", { class: "edges" });
  for (let column = 0; column <= shown; column += 1) {
    for (const node of columns[column]) {
      const lost = column < shown && node.children === 0;
      const kind = lost ? "lost" : node.won ? "won" : "kept";
      const now = column === shown ? " now" : "";
      if (node.parent) (kind === "won" ? lit : edges).append(edge(at(node.parent, column - 1), at(node, column), `${kind}${now}`));
      nodes.append(dot(at(node, column), `${kind}${now}`, node, column));
    }
  }
  const heads = columns.map((_, column) => head(column, steps, shown, x(column)));
  const words = `Candidates after each step: ${steps.slice(0, shown).map((step) => step.n_after).join(", ")}.`;
  place.replaceChildren(svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": words }, ...heads, edges, lit, nodes));
}

function head(column, steps, shown, x) {
  const step = steps[column - 1];
  const first = step ? step.choices[0].slots : [];
  const words = column === 0 ? "start" : first.length ? `slot ${first.slice(0, 3).join("+")}${step.choices.length > 1 ? " …" : ""}` : "";
  const label = svg("text", { x, y: 13, class: `column${column === shown ? " now" : ""}${column > shown ? " later" : ""}` }, words);
  const kept = svg("text", { x, y: 26, class: `column small${column > shown ? " later" : ""}` }, step && column <= shown ? `${count(step.n_after)} kept` : "");
  return svg("g", {}, label, kept);
}

function edge([x1, y1], [x2, y2], kind) {
  const middle = (x1 + x2) / 2;
  return svg("path", { d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`, class: kind });
}

function dot([x, y], kind, node, column) {
  const words = column === 0 ? "nothing revealed" : `${node.codes.map((code) => code ?? "?").join(" · ")}: ${percent(node.probability)}, ${node.n_fitting} fit`;
  const title = svg("title", {}, words);
  const grows = node.won ? 1 : 0;
  return svg("circle", { cx: x, cy: y, r: (column === 0 ? 5 : 2.4) + grows, class: kind }, title);
}

/** One candidate as a row. */
export function candidateRow(candidate, best) {
  const more = candidate.n_fitting - Math.min(candidate.titles.length, 2);
  const titles = candidate.titles.slice(0, 2).join(" · ") + (more > 0 && candidate.titles.length ? ` · and ${count(more)} more` : "");
  return el("li", {},
    codeChips(candidate.codes),
    el("span", { className: "score", vars: { share: best > 0 ? candidate.probability / best : 0 }, title: "probability so far" }, el("i"), el("b", {}, percent(candidate.probability))),
    el("span", { className: "fits" }, candidate.n_fitting === 1 ? "1 item" : `${count(candidate.n_fitting)} items`),
    el("span", { className: "titles" }, titles));
}
