// One item: what it is, its code-neighbours, its place on the map, and what else fits when some codes are kept.

import * as api from "./api.js";
import { $, codeChips, count, el, hue, plural } from "./dom.js";
import { add } from "./history.js";
import { createMap } from "./map.js";
import { card, change, question, state } from "./state.js";

const HIDDEN = new Set(["item_id", "title"]);

export function start(complain) {
  const dialog = $("item");
  $("item-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

  return async function open(itemId, model = state.model) {
    let found;
    try {
      found = await api.item(itemId, model);
    } catch (error) { complain(error); return; }
    $("item-title").textContent = found.title;
    $("item-body").replaceChildren(...parts(found, card(model), open, complain));
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
  };
}

/** An item as one model knows it. */
function parts(found, model, open, complain) {
  const plain = { item_id: found.item_id, title: found.title, semantic_id: found.semantic_id };
  const made = [
    el("div", { className: "row" }, codeChips(found.semantic_id), el("code", {}, found.item_id), state.rival ? el("span", { className: "badge" }, `by ${model.name}`) : null, found.removed ? el("span", { className: "badge" }, "never recommended") : null),
    el("div", { className: "row" }, el("button", { type: "button", className: "main", on: { click: () => { add(plain, model.name); $("item").close(); } } }, "Add to the history")),
    fields(found),
  ];
  if (found.semantic_id === null) return made;
  const keep = steering(plain, model, open);
  if (keep) made.push(keep);
  made.push(neighbours(found, (other) => open(other, model.name)));
  const place = el("div");
  made.push(el("section", {}, el("h3", {}, "On the map"), place));
  createMap(place, "item-map", complain, ["item"])(model, [{ codes: found.semantic_id, kind: "item" }]);
  return made;
}

function fields(found) {
  const rows = Object.entries(found.fields).filter(([name, value]) => !HIDDEN.has(name) && value !== null && value !== "");
  return el("dl", { className: "fields" }, ...rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, Array.isArray(value) ? value.join(", ") : typeof value === "object" ? JSON.stringify(value) : String(value))]));
}

function neighbours(found, open) {
  const shares = found.alike.map((items, shared) => `${count(items)} share ${shared}`).slice(1).filter((_, at) => found.alike[at + 1]).reverse();
  return el("section", {}, el("h3", {}, "Nearest by codes"),
    el("p", { className: "hint" }, shares.length ? `Of the other items ${shares.join(", ")} of its ${plural(found.semantic_id.length, "code")}.` : "No other item shares a code."),
    el("ol", { className: "neighbours" }, ...found.neighbours.map((other) =>
      el("li", {}, el("button", { type: "button", className: "link", on: { click: () => open(other.item_id) } }, other.title), codeChips(other.semantic_id, { marked: other.shared })))));
}

/** Where a chosen or any loaded model can be steered: keep codes and columns of this item, see what else fits. */
function steering(plain, shown, open) {
  const model = [shown, card(state.model), card(state.rival), ...state.models].find((each) => each?.capabilities.steers);
  if (!model) return null;
  const kept = new Set();
  const list = el("ol", { className: "neighbours", aria: { live: "polite" } });
  const words = el("p", { className: "hint" }, "Choose what must stay the same.");
  const use = el("button", { type: "button", disabled: true, on: { click: () => { change({ like: plain, keep: [...kept], ...(state.model === model.name || state.rival === model.name ? {} : { model: model.name }) }); $("item").close(); } } }, "Use in the list");
  const changed = async () => {
    use.disabled = kept.size === 0;
    if (!kept.size) { list.replaceChildren(); words.textContent = "Choose what must stay the same."; return; }
    try {
      const { like, keep, ...rest } = question(model);
      const answer = await api.recommend({ ...rest, exclude_seen: false, k: 8, like: plain.item_id, keep: [...kept] });
      const others = answer.items.filter((item) => item.item_id !== plain.item_id);
      words.textContent = others.length ? `${model.name}, for this history:` : "Nothing else fits.";
      list.replaceChildren(...others.map((item) => el("li", {}, el("button", { type: "button", className: "link", on: { click: () => open(item.item_id, model.name) } }, item.title), codeChips(item.semantic_id, { marked: [...kept].filter(Number.isInteger) }))));
    } catch (error) { words.textContent = error.message; list.replaceChildren(); }
  };
  const toggle = (value, label, colour) =>
    el("label", { className: "toggle", vars: { hue: colour } }, el("input", { type: "checkbox", on: { change: (event) => { event.target.checked ? kept.add(value) : kept.delete(value); changed(); } } }), el("span", {}, label));
  const codes = (model === shown ? plain.semantic_id : null) ?? model.codebook_sizes.map(() => null);
  const slots = codes.map((code, slot) => toggle(slot + 1, code === null ? `slot ${slot + 1}` : `slot ${slot + 1}: ${code}`, hue(slot)));
  const columns = model.columns.filter((name) => !HIDDEN.has(name)).slice(0, 8).map((name) => toggle(name, name, 0));
  return el("section", { className: "steer" }, el("h3", {}, "Keep some of it, and see what else fits"), el("div", { className: "row wrap" }, ...slots, ...columns), words, list, use);
}
