// Before anything is drawn: the theme that was chosen last, else the system's.
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem("sidrec-theme"); } catch { /* storage may be forbidden */ }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
