import { groupingCodec } from '../../base/grouping';
import { commands } from '../../core/commands.svelte';
import { colours } from '../../core/runs/colours.svelte';
import { columns } from '../../core/runs/columns.svelte';
import { groups } from '../../core/runs/groups.svelte';
import { selection } from '../../core/runs/selection.svelte';
import { shownColumns } from '../../core/runs/shown-columns.svelte';
import type { Command } from '../../plugin/context';

const MOST = 6;

/** Lets the search box do what the table of runs can. Returns how to take that back. */
export function registerCommands(): () => void {
  return commands.register((query) => {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return [];
    const hasAll = ({ label }: Command): boolean =>
      words.every((word) => label.toLowerCase().includes(word));
    return [...ticks(), ...byHparam(), ...metrics()].filter(hasAll).slice(0, MOST);
  });
}

function ticks(): Command[] {
  return [
    action('Tick all runs that are found', () => selection.tickFound(true)),
    action('Tick none of the runs that are found', () => selection.tickFound(false)),
    action('Invert which runs are ticked', () => selection.invert()),
    action('Do not group runs', () => groups.groupBy(null)),
  ];
}

function byHparam(): Command[] {
  return columns.there.hparams.flatMap(({ name }) => {
    const key = `hparam:${name}`;
    return [
      action(`Group runs by ${name}`, () => groups.groupBy(groupingCodec.parse(key))),
      action(`Colour runs by ${name}`, () => colours.colourBy({ by: 'column', key })),
      action(`Column ${name}`, () => shownColumns.add(key)),
    ];
  });
}

function metrics(): Command[] {
  return columns.there.metrics.map((tag) =>
    action(`Column with the last ${tag}`, () => shownColumns.add(`last:${tag}`)),
  );
}

function action(label: string, run: () => void): Command {
  return { label, kind: 'Action', hint: 'runs', run };
}
