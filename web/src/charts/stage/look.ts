/** Tells all charts when colours or the pixels of the screen have become others. */

const listeners = new Set<() => void>();
let stop: (() => void) | null = null;

/** Calls `listener` when the theme or the density of pixels has changed. */
export function onLookChange(listener: () => void): () => void {
  listeners.add(listener);
  stop ??= watch();
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    stop?.();
    stop = null;
  };
}

function tell(): void {
  for (const listener of listeners) listener();
}

function watch(): () => void {
  const ending = new AbortController();
  const root = new MutationObserver(tell);
  root.observe(document.documentElement, { attributeFilter: ['data-theme', 'class', 'style'] });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', tell, ending);
  watchDensity(ending);
  return () => {
    root.disconnect();
    ending.abort();
  };
}

/** A query can only ask for one density, so each change needs the next one. */
function watchDensity(ending: AbortController): void {
  const query = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
  const changed = (): void => {
    tell();
    watchDensity(ending);
  };
  query.addEventListener('change', changed, { once: true, signal: ending.signal });
}
