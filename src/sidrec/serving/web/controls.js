// Model, rival, search and filters.

import { $, count, el, settled } from "./dom.js";
import { BEAMS, change, chosen, defaults, state, whenChanged } from "./state.js";

const WIDE = matchMedia("(min-width: 1000px)");

export function start() {
  const fold = () => { $("more-controls").open = WIDE.matches; };
  fold();
  WIDE.addEventListener("change", fold);
  $("controls").addEventListener("submit", (event) => event.preventDefault());
  $("model").addEventListener("change", () => change({ model: $("model").value }));
  $("rival").addEventListener("change", () => change({ rival: $("rival").value || null }));
  $("n_steps").addEventListener("input", () => change({ n_steps: Number($("n_steps").value) || null }));
  $("beam_size").addEventListener("input", () => change({ beam_size: BEAMS[Number($("beam_size").value) - 1] ?? null }));
  $("order").addEventListener("change", () => change({ order: $("order").value || null }));
  $("k").addEventListener("input", () => change({ k: Number($("k").value) }));
  $("exclude_seen").addEventListener("change", () => change({ exclude_seen: $("exclude_seen").checked }));
  for (const name of ["allow", "deny"]) $(name).addEventListener("input", settled(() => change({ [name]: $(name).value }), 350));
  $("defaults").addEventListener("click", () => { change(defaults()); fill(); });
  whenChanged((given) => { if ("models" in given || "model" in given || "rival" in given) fill(); else tell(); });
}

function fill() {
  const options = state.models.map((model) => el("option", { value: model.name }, model.name));
  $("model").replaceChildren(...options);
  $("rival").replaceChildren(el("option", { value: "" }, "nothing"), ...options.map((option) => option.cloneNode(true)));
  $("model").value = state.model;
  $("rival").value = state.rival ?? "";
  const searching = chosen().filter((model) => model.capabilities.searches);
  for (const name of ["n_steps", "beam_size", "order"]) $(name).disabled = !searching.some((model) => model.search_options.includes(name));
  $("search-none").hidden = searching.length > 0;
  $("n_steps").max = Math.max(1, ...searching.map((model) => model.codebook_sizes?.length ?? 1));
  $("beam_size").max = BEAMS.length;
  $("exclude_seen").checked = state.exclude_seen;
  $("order").value = state.order ?? "";
  $("allow").value = state.allow;
  $("deny").value = state.deny;
  const model = chosen()[0];
  $("model-summary").textContent = `${model.model}: ${model.summary}`;
  columns(model);
  tell();
}

function columns(model) {
  const names = model.columns.filter((name) => name !== "item_id").slice(0, 12);
  const buttons = names.map((name) =>
    el("button", { type: "button", className: "quiet small", on: { click: () => insert(name) }, aria: { label: `Filter by ${name}` } }, name));
  $("columns").replaceChildren("Columns: ", ...buttons, " as in ", el("code", {}, "price<50 and brand=Acme,Zoll"));
}

function insert(name) {
  const before = $("allow").value.trim();
  $("allow").value = before ? `${before} and ${name}=` : `${name}=`;
  $("allow").focus();
}

function tell() {
  const own = chosen().find((model) => model.capabilities.searches);
  const steps = own?.search?.n_steps ?? own?.codebook_sizes?.length;
  $("n_steps").value = state.n_steps ?? 0;
  $("n_steps-is").textContent = state.n_steps ?? (own ? `${steps}, the model's own` : "");
  $("beam_size").value = BEAMS.indexOf(state.beam_size) + 1;
  $("beam_size-is").textContent = state.beam_size ?? (own ? `${count(own.search.beam_size)}, the model's own` : "");
  $("k").value = state.k;
  $("k-is").textContent = state.k;
}
