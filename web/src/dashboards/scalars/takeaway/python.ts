/** What the lines of Python are to read. */
export interface Reading {
  readonly roots: readonly { readonly name: string; readonly path: string }[];
  /** null: all. */
  readonly runs: readonly string[] | null;
  readonly tags: readonly string[];
}

/** Lines of Python that read the same series, every point of them. */
export function pythonFor({ roots, runs, tags }: Reading): string {
  return [
    'import tracklight',
    '',
    `log = tracklight.open(${logdir(roots)})`,
    'table = log.scalars(',
    ...(runs === null ? [] : [`    run=${names(runs)},`]),
    `    tag=${names(tags)},`,
    ')',
    'steps, values = table["step"], table["value"]  # also: run, tag, wall_time',
    '',
  ].join('\n');
}

function logdir(roots: Reading['roots']): string {
  const [first, second] = roots;
  if (first && !second && first.name === '') return quote(first.path);
  return `{${roots.map(({ name, path }) => `${quote(name)}: ${quote(path)}`).join(', ')}}`;
}

function names(list: readonly string[]): string {
  return `[${list.map(quote).join(', ')}]`;
}

/** A string as Python writes it, too. */
function quote(text: string): string {
  return JSON.stringify(text);
}
