export interface Root {
  readonly name: string;
  readonly path: string;
}

/** The first lines of Python that read what a card shows; `log` is the log. */
export function openingLines(roots: readonly Root[]): string[] {
  return ['import tracklight', '', `log = tracklight.open(${logdir(roots)})`];
}

function logdir(roots: readonly Root[]): string {
  const [first, second] = roots;
  if (first && !second && first.name === '') return quote(first.path);
  return `{${roots.map(({ name, path }) => `${quote(name)}: ${quote(path)}`).join(', ')}}`;
}

/** A string as Python writes it, too. */
export function quote(text: string): string {
  return JSON.stringify(text);
}
