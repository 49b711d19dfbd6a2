/** The colours of a chart's own parts, as a canvas takes them. */
export interface Palette {
  readonly paper: string;
  readonly grid: string;
  readonly axis: string;
  /** A line that follows the pointer. */
  readonly rule: string;
  readonly label: string;
  readonly text: string;
  readonly accent: string;
  readonly bad: string;
}

/** What is taken away is put on white paper, whatever the page looks like. */
export const LIGHT: Palette = {
  paper: '#ffffff',
  grid: '#efeff3',
  axis: '#d5d5dd',
  rule: '#a3a3af',
  label: '#6e6e79',
  text: '#1c1c22',
  accent: '#4f46e5',
  bad: '#c0262d',
};

const TOKENS: Record<keyof Palette, string> = {
  paper: 'var(--raise)',
  grid: 'color-mix(in srgb, var(--line) 65%, var(--raise))',
  axis: 'var(--line-strong)',
  rule: 'color-mix(in srgb, var(--faint) 65%, var(--raise))',
  label: 'var(--faint)',
  text: 'var(--text)',
  accent: 'var(--accent)',
  bad: 'var(--bad)',
};

/**
 * The colours of the theme that holds where `element` is. Tokens name one colour for each theme, and
 * only a property that is a colour tells which one it is now; so an element tries them on.
 */
export function readPalette(element: HTMLElement): Palette {
  const probe = element.appendChild(document.createElement('i'));
  probe.hidden = true;
  const look = getComputedStyle(probe);
  const tried = Object.entries(TOKENS).map(([name, token]) => {
    probe.style.color = token;
    return [name, look.color];
  });
  probe.remove();
  return Object.fromEntries(tried) as Record<keyof Palette, string>;
}
