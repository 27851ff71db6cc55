// What the visitor has chosen: one object, kept in the address so that a link shows a colleague the same.

export const BEAMS = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500];
const PLAIN = { model: null, rival: null, n_steps: null, beam_size: null, order: null, k: 10, exclude_seen: true, allow: "", deny: "" };

export const state = { ...PLAIN, models: [], history: [], truth: null, like: null, keep: [] };
const listeners = [];

export const whenChanged = (listener) => listeners.push(listener);

/** Takes over what is given and tells everybody. */
export function change(given) {
  Object.assign(state, given);
  remember();
  for (const listener of listeners) listener(given);
}

export const defaults = () => ({ ...PLAIN, model: state.model, rival: state.rival, like: null, keep: [] });
export const card = (name) => state.models.find((model) => model.name === name) ?? null;
export const chosen = () => [card(state.model), card(state.rival)].filter(Boolean);

/** The question for one model: what it cannot take is left out. */
export function question(model) {
  const { steers } = model.capabilities;
  const asked = { model: model.name, history: state.history.map((item) => item.item_id), k: state.k, exclude_seen: state.exclude_seen };
  for (const name of ["allow", "deny"]) if (state[name].trim()) asked[name] = state[name].trim();
  for (const name of model.search_options) if (state[name] !== null) asked[name] = state[name];
  if (steers && state.like && state.keep.length) Object.assign(asked, { like: state.like.item_id, keep: state.keep });
  return asked;
}

function remember() {
  const kept = new URLSearchParams();
  for (const [name, plain] of Object.entries(PLAIN)) if (state[name] !== plain && state[name] !== null) kept.set(name, state[name]);
  for (const item of state.history) kept.append("item", item.item_id);
  history.replaceState(null, "", `#${kept}`);
}

/** What the address says: settings, and the ids of the history. */
export function remembered() {
  const kept = new URLSearchParams(location.hash.slice(1));
  const found = {};
  for (const name of ["model", "rival", "order", "allow", "deny"]) if (kept.has(name)) found[name] = kept.get(name);
  for (const name of ["n_steps", "beam_size", "k"]) {
    const value = Number.parseInt(kept.get(name), 10);
    if (value >= 1 && value <= 500) found[name] = value;
  }
  if (kept.has("exclude_seen")) found.exclude_seen = kept.get("exclude_seen") !== "false";
  return { found, items: kept.getAll("item").slice(0, 50) };
}
