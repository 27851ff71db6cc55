// The history: found by title, or a sample user's.

import * as api from "./api.js";
import { $, codeChips, count, el, plural, settled } from "./dom.js";
import { change, state, whenChanged } from "./state.js";

let found = [];
let foundBy = "";
let active = -1;
let asking = null;
let samples = null;
let nextSample = 0;

/** Whoever names the item, the history tells it by the codes of the first model. */
export async function add(item, model = state.model) {
  const told = model === state.model ? item : await api.item(item.item_id, state.model).catch(() => ({ ...item, semantic_id: null }));
  const { item_id, title, semantic_id } = told;
  change({ history: [...state.history, { item_id, title, semantic_id }], truth: null });
}

export function start(openItem, complain) {
  const input = $("search");
  const find = settled((words) => { if (words === input.value) search(words, complain); }, 120);
  for (const kind of ["input", "focus"]) input.addEventListener(kind, () => find(input.value));
  input.addEventListener("blur", () => setTimeout(close, 150));
  input.addEventListener("keydown", (event) => keyed(event, complain));
  $("clear").addEventListener("click", () => { change({ history: [], truth: null }); input.focus(); });
  $("sample").addEventListener("click", () => takeSample(complain));
  whenChanged((given) => {
    if ("history" in given) draw(openItem);
    if ("model" in given) { samples = null; offerSamples(complain); }
  });
}

async function search(words, complain) {
  asking?.abort();
  asking = new AbortController();
  try {
    const answer = await api.findItems(words.slice(0, 200), state.model, asking.signal);
    if (document.activeElement !== $("search")) return;
    show(answer, words);
  } catch (error) {
    if (error.name !== "AbortError") complain(error);
  }
}

function show({ items, total }, words) {
  found = items;
  foundBy = words;
  active = -1;
  const options = items.map((item, place) =>
    el("li", { id: `found-${place}`, role: "option", aria: { selected: "false" }, on: { mousedown: (event) => { event.preventDefault(); take(place); } } },
      el("span", {}, item.title), codeChips(item.semantic_id)));
  if (!items.length) options.push(el("li", { className: "hint", role: "option", aria: { disabled: "true" } }, "No title has these words."));
  $("found").replaceChildren(...options);
  $("found").hidden = false;
  $("search").setAttribute("aria-expanded", "true");
  const shown = words.trim() ? `${plural(total, "item")} found` : "the most popular items";
  $("found-count").textContent = items.length < total && words.trim() ? `${shown}, the best ${count(items.length)} listed` : shown;
}

function close() {
  $("found").hidden = true;
  $("search").setAttribute("aria-expanded", "false");
  $("search").removeAttribute("aria-activedescendant");
}

function take(place) {
  if (!found[place]) return;
  add(found[place]);
  $("search").value = "";
  close();
}

/** Enter takes what these words find, also where that is not shown yet. */
async function takeFirst(complain) {
  const words = $("search").value;
  if (foundBy !== words) await search(words, complain);
  if (foundBy === words && $("search").value === words) take(Math.max(active, 0));
}

function keyed(event, complain) {
  const open = !$("found").hidden;
  if (event.key === "Escape") { close(); return; }
  if (event.key === "Enter" && (open || $("search").value.trim())) { event.preventDefault(); takeFirst(complain); return; }
  if (!["ArrowDown", "ArrowUp"].includes(event.key) || !open || !found.length) return;
  event.preventDefault();
  active = (active + (event.key === "ArrowDown" ? 1 : found.length - (active < 0 ? 0 : 1))) % found.length;
  [...$("found").children].forEach((option, place) => option.setAttribute("aria-selected", String(place === active)));
  $("found").children[active].scrollIntoView({ block: "nearest" });
  $("search").setAttribute("aria-activedescendant", `found-${active}`);
}

function draw(openItem) {
  $("history-empty").hidden = state.history.length > 0;
  $("clear").disabled = state.history.length === 0;
  if (state.truth === null) $("sample-name").textContent = "";
  $("history").replaceChildren(...state.history.map((item, place) =>
    el("li", {},
      el("button", { type: "button", className: "link", on: { click: () => openItem(item.item_id) } }, item.title),
      codeChips(item.semantic_id),
      el("button", { type: "button", className: "quiet small", aria: { label: `Remove ${item.title}` }, on: { click: () => remove(place) } }, "✕"))));
  $("history").scrollTop = $("history").scrollHeight;
}

function remove(place) {
  change({ history: state.history.filter((_, other) => other !== place), truth: null });
  const left = $("history").querySelectorAll("li > button:last-child");
  (left[Math.min(place, left.length - 1)] ?? $("search")).focus();
}

async function offerSamples(complain) {
  try {
    samples = await api.sampleUsers(state.model);
  } catch (error) { complain(error); return; }
  $("sample").hidden = samples.users.length === 0;
  if (!samples.users.length) $("sample-name").textContent = `No sample users: ${samples.why_none}`;
}

async function takeSample(complain) {
  if (samples === null) await offerSamples(complain);
  if (!samples?.users.length) return;
  const user = samples.users[nextSample++ % samples.users.length];
  change({ history: user.history, truth: user.came_next });
  $("sample-name").textContent = `${user.name} of ${samples.users.length}`;
}
