// The generation, step by step: slots, candidates, and how many items still fit.

import { $, count, el, hue, percent, settled } from "./dom.js";
import { candidateRow, drawTree } from "./tree.js";

const FEW = 8;
const BEAT_MS = 1100;
let traced = [];
let watched = 0;
let step = 1;
let all = false;
let playing = 0;

export function start() {
  $("step").addEventListener("input", () => { pause(); go(Number($("step").value)); });
  $("back").addEventListener("click", () => { pause(); go(step - 1); });
  $("forward").addEventListener("click", () => { pause(); go(step + 1); });
  $("play").addEventListener("click", () => (playing ? pause() : play()));
  $("more").addEventListener("click", () => { all = !all; candidates(); });
  window.addEventListener("resize", settled(tree, 100));
}

export function none(words) {
  pause();
  traced = [];
  $("generation-body").hidden = $("watch").hidden = true;
  $("generation-none").hidden = false;
  $("generation-none").textContent = words;
}

/** `answers`: {card, served} of models that told their steps. */
export function show(answers) {
  pause();
  traced = answers;
  watched = Math.min(watched, answers.length - 1);
  $("generation-body").hidden = false;
  $("generation-none").hidden = true;
  $("watch").hidden = answers.length < 2;
  const names = answers.map(({ card }, place) =>
    el("label", {}, el("input", { type: "radio", name: "watched", checked: place === watched, on: { change: () => { watched = place; go(step); } } }), el("span", {}, card.name)));
  $("watch").replaceChildren(...names);
  go(step);
}

function play() {
  if (step >= steps().length) go(1);
  playing = setInterval(() => (step < steps().length ? go(step + 1) : pause()), BEAT_MS);
  $("play").textContent = "❚❚";
  $("play").setAttribute("aria-label", "Pause");
}

function pause() {
  clearInterval(playing);
  playing = 0;
  $("play").textContent = "▶";
  $("play").setAttribute("aria-label", "Play the steps");
}

const steps = () => traced[watched].served.steps;

function go(wanted) {
  if (!traced.length) return;
  const told = steps();
  step = Math.min(Math.max(wanted, 1), told.length);
  $("step").max = told.length;
  $("step").value = step;
  $("step").setAttribute("aria-valuetext", `step ${step} of ${told.length}`);
  $("step-is").textContent = `Step ${step} of ${told.length}`;
  $("back").disabled = step === 1;
  $("forward").disabled = step === told.length;
  const story = told[step - 1];
  $("headline").textContent = headline(story);
  $("slots").replaceChildren(...story.slots.map((slot) => tile(slot, told)));
  tree();
  funnel(told);
  candidates();
}

function tree() {
  if (traced.length) drawTree($("tree"), steps(), step, traced[watched].served.items.length);
}

function headline(story) {
  const now = story.slots.filter((slot) => slot.filled_now);
  const open = story.slots.filter((slot) => slot.code === null).length;
  const asked = story.slots.filter((slot) => slot.confidence !== null).length;
  const names = `${now.length > 1 ? "Slots" : "Slot"} ${now.map((slot) => slot.number).join(" and ")} ${now.length > 1 ? "are" : "is"} revealed`;
  const sure = now.length === 1 && now[0].confidence !== null ? ` (${percent(now[0].confidence)})` : "";
  const why = now.length === open ? `: ${now.length > 1 ? "all that are" : "the only one"} left${sure}` : asked > now.length ? `: the model is surest there${sure}` : `: next in the fixed order${sure}`;
  const others = story.choices.length > 1 ? ` Other candidates chose otherwise: ${story.choices.slice(1, 4).map((choice) => `${choice.candidates} took slot ${choice.slots.join("+")}`).join(", ")}.` : "";
  const lost = story.children.filter((children) => children === 0).length;
  const fate = story.n_before > 1 ? ` ${count(story.n_before)} candidates became ${count(story.n_after)}; ${lost ? `${count(lost)} were given up.` : "none was given up."}` : ` It grows into ${count(story.n_after)} candidates.`;
  return `${names}${why}.${others}${fate}`;
}

/** When the slot was revealed in the watched model's best candidate, from 1. */
const revealed = (number, told) => told.findIndex((story) => story.slots[number - 1].filled_now) + 1;

function tile(slot, told) {
  const kind = slot.code !== null ? "done" : slot.filled_now ? "now" : "open";
  const shown = slot.code ?? (slot.filled_now ? slot.likely[0]?.code : null) ?? "?";
  const order = revealed(slot.number, told);
  const note = kind === "done" ? `revealed in step ${order || "before"}` : slot.confidence === null ? "not asked in this step" : `${percent(slot.confidence)} sure`;
  const bars = slot.likely.slice(0, 5).map((chance) =>
    el("li", { vars: { share: chance.probability } }, el("b", {}, String(chance.code)), el("i"), el("span", {}, percent(chance.probability))));
  return el("div", { className: `slot ${kind}`, vars: { hue: hue(slot.number - 1) }, role: "group", aria: { label: `Slot ${slot.number}, ${kind === "open" ? "hidden" : `code ${shown}`}, ${note}` } },
    el("div", { className: "slot-head" }, el("span", {}, `slot ${slot.number}`), kind === "now" ? el("span", { className: "badge star" }, "now") : null),
    el("div", { className: "numeral" }, String(shown)),
    el("div", { className: "sure", vars: { share: slot.confidence ?? (kind === "done" ? 1 : 0) } }, el("i")),
    el("p", { className: "hint" }, note),
    kind === "done" ? null : el("ol", { className: "likely", aria: { label: "likeliest codes" } }, ...bars));
}

function funnel(told) {
  const total = traced[watched].card.n_items;
  const rows = [{ name: "catalogue", fits: total }, ...told.map((story) => ({ name: `step ${story.number}`, fits: story.n_fitting }))];
  const share = (fits) => (fits === null ? 0 : Math.max(0.04, Math.log1p(fits) / Math.log1p(total)));
  $("funnel").replaceChildren(...rows.map(({ name, fits }, place) =>
    el("div", { className: `${place === step ? "now" : ""} ${place > step ? "later" : ""}`, vars: { share: share(fits) } },
      el("span", {}, name), el("i"), el("b", {}, place > step ? "" : fits === null ? "any" : count(fits)))));
}

function candidates() {
  const story = steps()[step - 1];
  const shown = all ? story.best : story.best.slice(0, FEW);
  const best = story.best[0]?.probability ?? 0;
  $("candidates").replaceChildren(...shown.map((candidate) => candidateRow(candidate, best)));
  $("more").hidden = story.best.length <= FEW;
  $("more").textContent = all ? "Show fewer" : `Show all ${story.best.length}${story.n_after > story.best.length ? ` of ${count(story.n_after)}` : ""}`;
}
