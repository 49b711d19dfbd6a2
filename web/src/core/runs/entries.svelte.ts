import type { RunNote } from '../../api/notes';
import { readNumber } from '../../api/numbers';
import type { RunRow } from '../../api/types';
import type { Subject, Value } from '../../base/expression/compile';
import { board } from '../board.svelte';
import { NOTHING_SAID, notes } from '../notes.svelte';
import { columns } from './columns.svelte';

/** A run with all that the table can say about it. Another object whenever something has changed. */
export class RunEntry implements Subject {
  readonly kind = 'run';
  /** Tells lines of the table apart. */
  readonly id: string;
  readonly name: string;
  /** What users call it: the alias, or the name. */
  readonly label: string;
  /** Name and alias in lower case, made once as every keystroke in the filter looks at it. */
  readonly lower: string;
  /** Seconds since 1970. */
  readonly start: number | null;
  readonly duration_s: number | null;

  constructor(
    readonly row: RunRow,
    readonly said: RunNote,
  ) {
    this.id = `run:${row.name}`;
    this.name = row.name;
    this.label = said.alias || row.name;
    this.lower = `${row.name}\n${said.alias}`.toLowerCase();
    this.start = readNumber(row.start_wall);
    const last = readNumber(row.last_wall);
    this.duration_s = this.start === null || last === null ? null : last - this.start;
  }

  valueOf(key: string): Value {
    switch (key) {
      case 'name':
        return this.name;
      case 'alias':
        return this.said.alias || null;
      case 'note':
        return this.said.note || null;
      case 'labels':
        return this.said.labels;
      case 'start':
        return this.start;
      case 'duration':
        return this.duration_s;
      case 'points':
        return this.row.points;
      case 'tags':
        return this.row.tags;
      default:
        return columns.find(key, this.name);
    }
  }
}

class Entries {
  /** In natural order, hidden ones as well. */
  readonly all = $derived(this.#prepare(board.runs, notes.runs));
  readonly byName = $derived(new Map(this.all.map((entry) => [entry.name, entry])));
  /** For the rule that ticks the newest. */
  readonly newestFirst = $derived(
    [...this.all].sort((a, b) => (b.start ?? -Infinity) - (a.start ?? -Infinity) || 0),
  );

  #known = new Map<string, RunEntry>();

  /** Runs of which nothing has changed keep their entry, so that what hangs on it stands still. */
  #prepare(rows: readonly RunRow[], said: Readonly<Record<string, RunNote>>): RunEntry[] {
    const entries = rows.map((row) => {
      const note = said[row.name] ?? NOTHING_SAID;
      const known = this.#known.get(row.name);
      return known && known.row === row && known.said === note ? known : new RunEntry(row, note);
    });
    this.#known = new Map(entries.map((entry) => [entry.name, entry]));
    return entries;
  }
}

export const entries = new Entries();
