// The service's routes. What goes wrong becomes an Error with the service's own words.

async function answer(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The service does not answer. Is it still running?");
  }
  const body = await response.json().catch(() => null);
  if (response.ok && body !== null) return body;
  const fields = (body?.errors ?? []).map((each) => `${each.where}: ${each.what}`).join("; ");
  const words = [body?.detail ?? `The service answered ${response.status}.`, fields].filter(Boolean).join(" ");
  throw Object.assign(new Error(words), { status: response.status });
}

const asked = (path, values) => `${path}?${new URLSearchParams(Object.entries(values).filter(([, value]) => value !== null))}`;

export const models = async () => (await answer("v1/models")).models;
export const findItems = (query, model, signal) => answer(asked("v1/items", { query, model, limit: 12 }), { signal });
export const item = (itemId, model) => answer(asked(`v1/items/${encodeURIComponent(itemId)}`, { model }));
export const sampleUsers = (model) => answer(asked("v1/users/sample", { model }));
export const map = (model, x, y) => answer(asked("v1/map", { model, x, y }));
export const recommend = (question, signal) =>
  answer("v1/recommend", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(question),
    signal,
  });
