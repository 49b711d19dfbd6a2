/** What the lines of Python are to read. */
export interface Reading {
  readonly roots: readonly { readonly name: string; readonly path: string }[];
  readonly runs: readonly string[];
  readonly tag: string;
}

/** Lines of Python that read the same histograms, every bucket of them. */
export function pythonFor({ roots, runs, tag }: Reading): string {
  return [
    'import tracklight',
    '',
    `log = tracklight.open(${logdir(roots)})`,
    `for run in [${runs.map(quote).join(', ')}]:`,
    `    histograms = log.histograms(run, ${quote(tag)}).without_overwritten()`,
    '    for step, histogram in zip(histograms.step, histograms):',
    '        print(run, step, histogram.edges_left, histogram.edges_right, histogram.counts)',
    '',
  ].join('\n');
}

function logdir(roots: Reading['roots']): string {
  const [first, second] = roots;
  if (first && !second && first.name === '') return quote(first.path);
  return `{${roots.map(({ name, path }) => `${quote(name)}: ${quote(path)}`).join(', ')}}`;
}

/** A string as Python writes it, too. */
function quote(text: string): string {
  return JSON.stringify(text);
}
