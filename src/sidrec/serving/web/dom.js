// Elements. Text only ever becomes text: nothing here, or anywhere on the page, parses HTML.

export const $ = (id) => document.getElementById(id);

/** An element; properties are set as such, `on` holds listeners, `data`, `aria` and `vars` (of CSS) are maps. */
export function el(tag, props = {}, ...children) {
  const made = document.createElement(tag);
  const { on = {}, data = {}, aria = {}, vars = {}, ...plain } = props;
  for (const [name, value] of Object.entries(plain)) {
    if (name in made && name !== "list") made[name] = value;
    else made.setAttribute(name, value);
  }
  for (const [name, value] of Object.entries(data)) made.dataset[name] = value;
  for (const [name, value] of Object.entries(aria)) made.setAttribute(`aria-${name}`, value);
  for (const [name, value] of Object.entries(vars)) made.style.setProperty(`--${name}`, value);
  for (const [name, listener] of Object.entries(on)) made.addEventListener(name, listener);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export const hue = (slot) => (255 + slot * 67) % 360;

/** A semantic ID as coloured codes: null is a code that is not known yet; `marked` are slots, from 1, to stand out. */
export function codeChips(codes, { marked = null } = {}) {
  if (!codes) return el("span", { className: "codes hint" }, "no codes");
  const words = codes.map((code) => (code === null ? "hidden" : code)).join(", ");
  const chips = codes.map((code, slot) =>
    el("span", {
      className: `code${code === null ? " open" : ""}${marked && !marked.includes(slot + 1) ? " dim" : ""}`,
      vars: { hue: hue(slot) },
      title: `slot ${slot + 1}`,
    }, code === null ? "?" : String(code)));
  return el("span", { className: "codes", role: "img", aria: { label: `codes ${words}` } }, ...chips);
}

export const percent = (share) => (share >= 0.0995 ? `${Math.round(share * 100)}%` : share >= 0.001 ? `${(share * 100).toFixed(1)}%` : "<0.1%");
export const count = (number) => number.toLocaleString("en");
export const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;
export const milliseconds = (ms) => (ms < 10 ? `${ms.toFixed(1)} ms` : `${count(Math.round(ms))} ms`);

/** Calls `action` once things have been quiet for a moment. */
export function settled(action, wait) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), wait);
  };
}
