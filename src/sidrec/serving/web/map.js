// The catalogue as a picture: a dot for each pair of codes of two slots, larger where more items are.

import * as api from "./api.js";
import { el, hue, plural } from "./dom.js";

const SIZE = 640;
const EDGE = 14; // room for the rings of the outermost dots
const INNER = SIZE - 2 * EDGE;
const RINGS = { history: "#0ea5e9", list: "#f59e0b", item: "#ef4444" };
const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** A map in `place`. Returns a function that draws it for a model, with `marks`: [{codes, kind}] to point out. */
export function createMap(place, name, complain, kinds = ["history", "list"]) {
  const canvas = el("canvas", { width: SIZE, height: SIZE, tabIndex: 0, role: "application", aria: { label: "Map of the catalogue. Arrow keys move to the next dot." } });
  const told = el("div", { className: "cell", aria: { live: "polite" } }, "Point at a dot, or move over the map with the arrow keys.");
  const axes = ["x", "y"].map((axis) => el("select", { id: `${name}-${axis}` }));
  const view = { model: null, marks: [], map: null, at: null, canvas, told, axes, complain };
  const labels = axes.map((select, which) => el("label", {}, which ? "Down: slot" : "Across: slot", select));
  const words = { history: "history", list: "recommended", item: "this item" };
  const legend = el("p", { className: "legend" }, ...kinds.map((kind) => el("span", {}, el("i", { className: `key mark-${kind}` }), words[kind])));
  place.replaceChildren(el("div", { className: "map" }, canvas, el("div", { className: "map-side" }, el("div", { className: "pair" }, ...labels), legend, told)));
  for (const select of axes) select.addEventListener("change", () => load(view));
  for (const kind of ["pointermove", "pointerdown"]) canvas.addEventListener(kind, (event) => point(view, nearest(view, ...under(event, view))));
  canvas.addEventListener("keydown", (event) => keyed(event, view));
  return (model, marks) => {
    view.marks = marks;
    if (view.model === model) { paint(view); return; }
    view.model = model;
    for (const [which, select] of axes.entries()) {
      select.replaceChildren(...model.codebook_sizes.map((size, slot) => el("option", { value: slot + 1 }, `${slot + 1} (${size} codes)`)));
      select.value = Math.min(which + 1, model.codebook_sizes.length);
    }
    load(view);
  };
}

async function load(view) {
  const [x, y] = view.axes.map((select) => select.value);
  try {
    view.map = await api.map(view.model.name, x, y);
  } catch (error) { view.complain(error); return; }
  view.at = null;
  paint(view);
}

const middle = (view, x, y) => [EDGE + ((x + 0.5) * INNER) / view.map.x_size, EDGE + ((y + 0.5) * INNER) / view.map.y_size];

function paint(view) {
  if (!view.map) return;
  const pen = view.canvas.getContext("2d");
  const { x_size, y_size, x_slot, y_slot, cells } = view.map;
  const room = Math.min(INNER / x_size, INNER / y_size) / 2;
  const most = Math.sqrt(cells[0]?.count ?? 1);
  const dark = getComputedStyle(view.canvas).getPropertyValue("--dots").trim() === "dark";
  pen.clearRect(0, 0, SIZE, SIZE);
  for (const cell of cells) {
    const radius = Math.max(2.2, room * 0.92) * (0.45 + 0.55 * (Math.sqrt(cell.count) / most));
    pen.fillStyle = `oklch(${dark ? 0.74 : 0.56} 0.13 ${hue(x_slot - 1) + (cell.x / x_size) * 120} / ${cell.count > 1 ? 0.95 : 0.6})`;
    circle(pen, ...middle(view, cell.x, cell.y), radius);
    pen.fill();
  }
  for (const { codes, kind } of view.marks) if (codes) ring(pen, middle(view, codes[x_slot - 1], codes[y_slot - 1]), RINGS[kind], Math.max(7, room), kind === "item" ? 4 : 3);
  if (view.at) ring(pen, middle(view, view.at.x, view.at.y), dark ? "#fff" : "#111", Math.max(11, room + 3), 2);
}

function circle(pen, x, y, radius) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
}

function ring(pen, [x, y], colour, radius, width) {
  circle(pen, x, y, radius);
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.stroke();
}

/** Where the pointer is, in codes. */
function under(event, view) {
  const box = view.canvas.getBoundingClientRect();
  const inside = (at, length, size) => (((at / length) * SIZE - EDGE) / INNER) * (size ?? 0) - 0.5;
  return [inside(event.clientX - box.left, box.width, view.map?.x_size), inside(event.clientY - box.top, box.height, view.map?.y_size)];
}

function nearest(view, x, y, fits = () => true) {
  let [best, found] = [Infinity, null];
  for (const cell of view.map?.cells ?? []) {
    const far = ((cell.x - x) / view.map.x_size) ** 2 + ((cell.y - y) / view.map.y_size) ** 2;
    if (far < best && fits(cell)) [best, found] = [far, cell];
  }
  return found;
}

/** To the nearest dot in the arrow's quarter. */
function keyed(event, view) {
  const move = MOVES[event.key];
  if (!move || !view.map) return;
  event.preventDefault();
  const { x, y } = view.at ?? { x: view.map.x_size / 2, y: view.map.y_size / 2 };
  const ahead = (cell) => {
    const along = (cell.x - x) * move[0] + (cell.y - y) * move[1];
    return along > 0 && Math.abs((cell.x - x) * move[1] + (cell.y - y) * move[0]) <= along;
  };
  point(view, nearest(view, x, y, ahead));
}

function point(view, cell) {
  if (!cell || cell === view.at) return;
  view.at = cell;
  paint(view);
  const where = el("b", {}, `Code ${cell.x} in slot ${view.map.x_slot}, code ${cell.y} in slot ${view.map.y_slot}`);
  const titles = cell.titles.slice(0, 6).map((title) => el("li", {}, title));
  view.told.replaceChildren(where, el("p", {}, plural(cell.count, "item")), el("ul", {}, ...titles));
}
