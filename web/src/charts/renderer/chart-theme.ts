/** Colors of axes, labels and overlays, as CSS colors for a canvas. */
export interface ChartTheme {
  readonly background: string;
  readonly grid: string;
  readonly axis: string;
  readonly crosshair: string;
  readonly label: string;
  readonly text: string;
  readonly accent: string;
  readonly error: string;
}

/** Exported images are always light. */
export const LIGHT_THEME: ChartTheme = {
  background: '#ffffff',
  grid: '#efeff3',
  axis: '#d5d5dd',
  crosshair: '#a3a3af',
  label: '#6e6e79',
  text: '#1c1c22',
  accent: '#4f46e5',
  error: '#c0262d',
};

const TOKENS: Record<keyof ChartTheme, string> = {
  background: 'var(--raise)',
  grid: 'color-mix(in srgb, var(--line) 65%, var(--raise))',
  axis: 'var(--line-strong)',
  crosshair: 'color-mix(in srgb, var(--faint) 65%, var(--raise))',
  label: 'var(--faint)',
  text: 'var(--text)',
  accent: 'var(--accent)',
  error: 'var(--bad)',
};

/**
 * Read the theme at an element. Tokens use `light-dark()`, which is resolved only in color
 * properties, so a temporary element is styled with each of them.
 */
export function readChartTheme(element: HTMLElement): ChartTheme {
  const probe = element.appendChild(document.createElement('i'));
  probe.hidden = true;
  const look = getComputedStyle(probe);
  const tried = Object.entries(TOKENS).map(([name, token]) => {
    probe.style.color = token;
    return [name, look.color];
  });
  probe.remove();
  return Object.fromEntries(tried) as Record<keyof ChartTheme, string>;
}
