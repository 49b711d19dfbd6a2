import { plural } from '../../../base/format';
import { depthOf, partOf } from '../../../base/grouping';
import { columns } from '../../../core/runs/columns.svelte';
import { entries } from '../../../core/runs/entries.svelte';
import type { Option, OptionGroup } from '../../../widgets/picker';
import { titleOfColumn } from '../table/cells';

const MOST_EXAMPLES = 4;

/** Everything that can be picked carries the key under which the address knows it. */
export function hparamOptions(isChosen: (key: string) => boolean): OptionGroup {
  return {
    title: 'Hyperparameters',
    options: columns.there.hparams.map(({ name, distinct }) =>
      option(`hparam:${name}`, plural(distinct, 'value'), isChosen),
    ),
  };
}

export function metricOptions(summary: string, isChosen: (key: string) => boolean): OptionGroup {
  return {
    title: 'Metrics',
    options: columns.there.metrics.map((tag) => option(`${summary}:${tag}`, '', isChosen, tag)),
  };
}

/** The folders that the runs are in, from the outermost. */
export function pathOptions(isChosen: (key: string) => boolean): OptionGroup {
  const depth = depthOf(entries.all.map((entry) => entry.name));
  const options = Array.from({ length: depth }, (_, at) => {
    const key = `path:${at + 1}`;
    return option(key, examplesOf(at + 1), isChosen, `Part ${at + 1} of the path`);
  });
  return { title: 'Path', options };
}

export function option(
  key: string,
  hint: string,
  isChosen: (key: string) => boolean,
  label = titleOfColumn(key).text,
): Option {
  return { key, label, hint, title: hint ? `${label}: ${hint}` : label, chosen: isChosen(key) };
}

function examplesOf(part: number): string {
  const examples = new Set<string>();
  for (const { name } of entries.all) {
    if (examples.size > MOST_EXAMPLES) return `${[...examples].join(', ')} …`;
    const example = partOf(name, part);
    if (example !== null) examples.add(example);
  }
  return [...examples].join(', ');
}
