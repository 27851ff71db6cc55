// The lists: one model's, or two side by side, with what moved since the last answer.

import { $, codeChips, el, milliseconds, plural } from "./dom.js";
import { add } from "./history.js";
import { state } from "./state.js";

const before = new Map();
const latencies = new Map();
const KEPT_LATENCIES = 24;

export function nothing(words) {
  $("columns-of-lists").replaceChildren(el("div", { className: "empty" }, el("span", { className: "ghost", aria: { hidden: "true" } }, ...ghosts()), el("p", {}, words)));
  $("overlap").hidden = $("truth").hidden = true;
}

const ghosts = () => [0, 1, 2, 3].map((slot) => el("i", { vars: { hue: (255 + slot * 67) % 360 } }));

/** `answers`: one {card, served} or {card, error} per model. */
export function show(answers, openItem) {
  const served = answers.filter((answer) => answer.served);
  $("columns-of-lists").replaceChildren(...answers.map((answer) => column(answer, answers, openItem)));
  $("overlap").hidden = served.length < 2;
  if (served.length > 1) {
    const [left, right] = served.map((answer) => answer.served.items.map((item) => item.item_id));
    $("overlap").textContent = `${left.filter((id) => right.includes(id)).length} of ${left.length} in both lists`;
  }
  truth(served, openItem);
  for (const { card, served: answer } of served) before.set(card.name, answer.items.map((item) => item.item_id));
  const words = answers.map(({ card, served: answer, error }) =>
    answer ? `${card.name}: ${plural(answer.items.length, "recommendation")} in ${milliseconds(answer.milliseconds)}` : `${card.name}: ${error.message}`);
  $("status").textContent = words.join(". ");
}

function column({ card, served, error }, answers, openItem) {
  const title = el("h3", {}, card.name);
  if (error) return el("div", { className: "list" }, el("div", { className: "list-head" }, title), el("p", { className: "notice", role: "alert" }, error.message));
  const best = Math.max(...served.items.map((item) => item.score));
  const worst = Math.min(...served.items.map((item) => item.score));
  const context = { old: before.get(card.name), best, worst, openItem, others: others(card, answers), model: card.name };
  const notes = [...served.notes];
  if (served.fallback) notes.unshift("Nothing of this history is known, so these are the most popular items.");
  else if (served.unknown_items) notes.unshift(`${plural(served.unknown_items, "item")} of the history is not in this model's catalogue.`);
  return el("div", { className: "list", data: { model: card.name } },
    el("div", { className: "list-head" }, title, latency(card, served)),
    ...notes.map((note) => el("p", { className: "note" }, note)),
    served.items.length ? null : el("p", { className: "note" }, "No item meets these filters."),
    el("ol", { className: "recommended", aria: { label: `Recommended by ${card.name}` } }, ...served.items.map((item, place) => row(item, place, context))));
}

function others(card, answers) {
  const other = answers.find((answer) => answer.served && answer.card !== card);
  return other ? other.served.items.map((item) => item.item_id) : null;
}

function row(item, place, { old, best, worst, openItem, others: rival, model }) {
  const share = best > worst ? 0.08 + 0.92 * ((item.score - worst) / (best - worst)) : 1;
  const there = rival ? rival.indexOf(item.item_id) : -1;
  const isTruth = state.truth?.item_id === item.item_id;
  const made = el("li", { className: isTruth ? "hit" : "", data: { item: item.item_id } },
    el("span", { className: "rank" }, String(place + 1)),
    el("button", { type: "button", className: "link title", on: { click: () => openItem(item.item_id, model) } }, item.title),
    el("span", { className: "meta" },
      item.semantic_id ? codeChips(item.semantic_id) : null,
      el("span", { className: "score", vars: { share }, title: "score" }, el("i"), el("b", {}, scoreText(item.score))),
      isTruth ? el("span", { className: "badge star" }, "★ came next") : null,
      moved(old, item.item_id, place),
      rival ? el("span", { className: "badge", title: "place in the other list" }, there < 0 ? "only here" : `there ${there + 1}`) : null),
    el("button", { type: "button", className: "quiet small add", aria: { label: `Add ${item.title} to the history` }, on: { click: () => add(item, model) } }, "+"));
  made.addEventListener("pointerenter", () => light(item.item_id, true));
  made.addEventListener("pointerleave", () => light(item.item_id, false));
  return made;
}

const scoreText = (score) => (Math.abs(score) >= 1000 ? Math.round(score).toLocaleString("en") : score.toPrecision(3));

function light(itemId, on) {
  for (const row of document.querySelectorAll(".recommended > li")) if (row.dataset.item === itemId) row.classList.toggle("lit", on);
}

function moved(old, itemId, place) {
  if (!old) return null;
  const was = old.indexOf(itemId);
  if (was === place) return null;
  if (was < 0) return el("span", { className: "badge new" }, "new");
  const up = was > place;
  return el("span", { className: `badge ${up ? "up" : "down"}`, aria: { label: `${up ? "up" : "down"} ${Math.abs(was - place)}` } }, `${up ? "▲" : "▼"}${Math.abs(was - place)}`);
}

/** The time of this answer, and bars of the ones before: what a setting costs is seen at once. */
function latency(card, served) {
  const seen = latencies.get(card.name) ?? [];
  if (served !== seen.last) { seen.push(served.milliseconds); seen.last = served; }
  if (seen.length > KEPT_LATENCIES) seen.shift();
  latencies.set(card.name, seen);
  const most = Math.max(...seen);
  const bars = seen.map((ms) => el("i", { vars: { share: Math.max(0.06, ms / most) }, title: milliseconds(ms) }));
  return el("span", { className: "latency" }, el("span", { className: "bars", aria: { hidden: "true" } }, ...bars), el("b", { title: "from the request to the answer, in the service" }, milliseconds(served.milliseconds)));
}

function truth(served, openItem) {
  $("truth").hidden = state.truth === null;
  if (state.truth === null) return;
  const places = served.map(({ card, served: answer }) => {
    const place = answer.items.findIndex((item) => item.item_id === state.truth.item_id);
    return `${card.name} ${place < 0 ? `does not have it in its first ${answer.items.length}` : `has it in place ${place + 1}`}`;
  });
  const title = el("button", { type: "button", className: "link", on: { click: () => openItem(state.truth.item_id) } }, state.truth.title);
  $("truth").replaceChildren("★ In truth came next: ", title, ` — ${places.join("; ")}.`);
}
