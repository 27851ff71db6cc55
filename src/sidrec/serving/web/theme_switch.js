// Light, dark, or as the system says.

import { $ } from "./dom.js";

const NEXT = { system: "light", light: "dark", dark: "system" };

export function startTheme(redraw) {
  tell();
  $("theme").addEventListener("click", () => { choose(NEXT[current()]); tell(); redraw(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}

const current = () => document.documentElement.dataset.theme ?? "system";

function choose(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === "system") localStorage.removeItem("sidrec-theme");
    else localStorage.setItem("sidrec-theme", theme);
  } catch { /* storage may be forbidden: the choice lasts as long as the page */ }
}

function tell() {
  $("theme").textContent = `Theme: ${current()}`;
}
