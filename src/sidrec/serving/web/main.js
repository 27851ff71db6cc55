// The page: who is asked when something changes, and what is shown then.

import * as api from "./api.js";
import * as controls from "./controls.js";
import { $, el, plural, settled } from "./dom.js";
import * as generation from "./generation.js";
import * as historyPart from "./history.js";
import * as itemPart from "./item.js";
import * as lists from "./lists.js";
import { createMap } from "./map.js";
import { card, change, chosen, question, remembered, state, whenChanged } from "./state.js";
import { startTheme } from "./theme_switch.js";

let asking = null;
let shownItems = [];

function complain(error) {
  $("trouble").textContent = error.message;
  $("trouble").hidden = false;
}

const openItem = itemPart.start(complain);
const drawMap = createMap($("map"), "map", complain);

/** Lists first, by requests of their own so that their times are true; then how they came about. */
async function ask() {
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  steering();
  if (!state.history.length && !state.like) {
    lists.nothing("Your recommendations appear here as soon as the history has an item.");
    generation.none("Build a history, and the codes of the next item are revealed here, step by step.");
    shownItems = [];
    map();
    busy(false, "lists", "generation");
    return;
  }
  const answers = [];
  for (const model of chosen()) answers.push(await attempt(model, question(model), signal));
  if (signal.aborted) return;
  $("trouble").hidden = true;
  busy(false, "lists");
  lists.show(answers, openItem);
  shownItems = answers[0].served?.items ?? [];
  map();
  await trace(answers, signal);
  if (!signal.aborted) busy(false, "generation");
}

function busy(is, ...ids) {
  for (const id of ids) $(id).setAttribute("aria-busy", String(is));
}

async function attempt(model, asked, signal) {
  try {
    return { card: model, served: await api.recommend(asked, signal) };
  } catch (error) {
    return { card: model, error };
  }
}

async function trace(answers, signal) {
  const able = answers.filter((answer) => answer.served && answer.card.capabilities.explains);
  const traced = [];
  for (const { card: model } of able) traced.push(await attempt(model, { ...question(model), trace: true }, signal));
  if (signal.aborted) return;
  const told = traced.filter((answer) => answer.served?.steps?.length);
  if (told.length) generation.show(told);
  else generation.none(traced.find((answer) => answer.error)?.error.message ?? why(answers));
}

function why(answers) {
  if (answers.some((answer) => answer.served?.fallback)) return "Nothing of this history is known, so nothing was generated.";
  return `${answers.map((answer) => answer.card.name).join(" and ")} scores items instead of generating codes; choose another model to watch one.`;
}

function map() {
  const model = chosen().find((each) => each.codebook_sizes && each.codebook_sizes.length > 1);
  $("map-section").hidden = !model;
  if (!model) return;
  const own = model.name === state.model;
  const marks = (items, kind) => (own ? items.filter((item) => item.semantic_id).map((item) => ({ codes: item.semantic_id, kind })) : []);
  drawMap(model, [...marks(state.history, "history"), ...marks(shownItems, "list")]);
}

function steering() {
  const on = state.like && state.keep.length && chosen().some((model) => model.capabilities.steers);
  $("steering").hidden = !on;
  if (!on) return;
  const kept = state.keep.map((each) => (Number.isInteger(each) ? `slot ${each}` : each)).join(", ");
  $("steering").replaceChildren("Only what agrees with ", el("b", {}, state.like.title), ` in ${kept} `, el("button", { type: "button", className: "quiet small", on: { click: () => change({ like: null, keep: [] }) } }, "Stop steering"));
}

/** What the model that is asked now knows of items: their new facts, null where it has no such item. */
async function facts(ids, model) {
  const ask = async (id) => {
    try {
      const { item_id, title, semantic_id } = await api.item(id, model);
      return [id, { item_id, title, semantic_id }];
    } catch (error) {
      if (error.status !== 404) throw error;
      return [id, null];
    }
  };
  return new Map(await Promise.all([...new Set(ids)].map(ask)));
}

/** The history in the words of another model; what was added or removed meanwhile stays so. */
async function retold() {
  const { model, history } = state;
  const told = await facts(history.map((item) => item.item_id), model);
  if (state.model !== model) return;
  change({ history: state.history.map((item) => (told.has(item.item_id) ? told.get(item.item_id) : item)).filter(Boolean) });
}

async function begin() {
  startTheme(() => map());
  controls.start();
  historyPart.start(openItem, complain);
  $("share").addEventListener("click", share);
  generation.start();
  const soon = settled(ask, 60);
  const models = await api.models();
  const { found, items } = remembered();
  const named = (name) => (models.some((model) => model.name === name) ? name : null);
  const model = named(found.model) ?? models[0].name;
  const told = await facts(items, model);
  change({ ...found, models, model, rival: named(found.rival), history: items.map((id) => told.get(id)).filter(Boolean) });
  whenChanged(async (given) => {
    busy(true, "lists", "generation");
    if ("model" in given && state.history.length) await retold().catch(complain);
    soon();
  });
  $("about").textContent = `${plural(models.length, "model")}, ${plural(card(model).n_items, "item")}.`;
  await ask();
}

async function share() {
  try {
    await navigator.clipboard.writeText(location.href);
    $("share").textContent = "Copied";
  } catch {
    $("share").textContent = "Copy the address above";
  }
  setTimeout(() => { $("share").textContent = "Copy link"; }, 2000);
}

begin().catch(complain);
