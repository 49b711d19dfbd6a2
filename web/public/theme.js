// Runs before the first paint, so that a chosen theme does not flash up in the other colour.
try {
  const chosen = localStorage.getItem('tracklight.theme');
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch {
  // A frame without storage follows the system.
}
