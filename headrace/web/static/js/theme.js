// The chosen colours, set before the first paint. Not a module: modules run too late for that.
(() => {
  try {
    const chosen = localStorage.getItem("headrace.theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // a browser that keeps nothing shows what the system prefers
  }
})();
