import { flag, text } from '../../lib/codecs';
import { compileExpression, type Field, withLocation } from '../../lib/filter-expression';
import {
  AUTO_SELECTION,
  countNewest,
  makeSelection,
  selectExactly,
  selectionCodec,
  type SelectionState,
  takeFirstNames,
  withSelected,
} from '../../lib/run-selection';
import { compileTextFilter } from '../../lib/text-filter';
import { pageUrl } from '../url.svelte';
import { columnValues } from './run-columns.svelte';
import { runEntries, type RunEntry, runOrder } from './run-entries.svelte';

export type FilterMode = 'text' | 'regex' | 'expression';

interface CompiledRunFilter {
  readonly matches: (entry: RunEntry) => boolean;
  /** What is wrong, as a sentence. */
  readonly error: string | null;
  readonly fields: readonly Field[];
}

const MODES: readonly FilterMode[] = ['text', 'regex', 'expression'];
const MATCH_ALL = (): boolean => true;

/** Which runs there are in the table. */
class RunFilter {
  readonly #texts = {
    text: pageUrl.param('runs', text, ''),
    regex: pageUrl.param('runs-re', text, ''),
    expression: pageUrl.param('runs-expr', text, ''),
  };
  readonly #hiddenToo = pageUrl.param('hidden', flag, false);
  /** How an empty box would be read; the address does not say. */
  #emptyMode = $state<FilterMode>('text');
  /** What held before the mistake that is being typed. */
  #lastRight: CompiledRunFilter['matches'] = MATCH_ALL;

  readonly mode = $derived(MODES.find((mode) => this.#texts[mode].value !== '') ?? this.#emptyMode);
  readonly text = $derived(this.#texts[this.mode].value);
  readonly #compiled = $derived(this.#compile(this.mode, this.text));

  readonly matches: (entry: RunEntry) => boolean = $derived.by(() => {
    const { matches } = this.#compiled;
    if (this.showsHidden) return matches;
    return (entry) => !entry.userNote.hidden && matches(entry);
  });
  /** Those that pass, in the order of the table. */
  readonly matching: readonly RunEntry[] = $derived(runOrder.sorted.filter(this.matches));
  readonly hiddenCount = $derived(runEntries.all.filter((entry) => entry.userNote.hidden).length);

  get error(): string | null {
    return this.#compiled.error ?? this.#missing;
  }

  /** Somebody compares something, but in the wrong mode. */
  get looksLikeExpression(): boolean {
    return (
      this.mode === 'text' &&
      /[<>=~:]/.test(this.text) &&
      !('message' in compileExpression(this.text))
    );
  }

  /** Columns that the expression looks at. */
  get columns(): string[] {
    return this.#compiled.fields.map((field) => field.key);
  }

  get showsHidden(): boolean {
    return this.#hiddenToo.value;
  }

  set(text: string, mode: FilterMode = this.mode): void {
    this.#emptyMode = mode;
    for (const other of MODES) this.#texts[other].set(other === mode ? text : '');
  }

  setShowHidden(shown: boolean): void {
    this.#hiddenToo.set(shown);
  }

  #compile(mode: FilterMode, text: string): CompiledRunFilter {
    const compiled = compile(mode, text);
    if (compiled.error !== null) return { ...compiled, matches: this.#lastRight };
    this.#lastRight = compiled.matches;
    return compiled;
  }

  /** The first field that no run has: most likely a slip of the keys. */
  get #missing(): string | null {
    if (!columnValues.isReady) return null;
    const { hparams, metrics } = columnValues.available;
    for (const { key, offset } of this.#compiled.fields) {
      const [kind, name] = splitKey(key);
      if (kind === 'hparam' && !hparams.some((known) => known.name === name))
        return withLocation(`No run has a hyperparameter “${name}”`, offset, this.text);
      if (/^(last|min|max)$/.test(kind) && !metrics.includes(name))
        return withLocation(`No run has a metric “${name}”`, offset, this.text);
    }
    return null;
  }
}

function compile(mode: FilterMode, text: string): CompiledRunFilter {
  if (text.trim() === '') return { matches: MATCH_ALL, error: null, fields: [] };
  if (mode === 'text') return compileWords(text);
  if (mode === 'regex') return compileRegex(text);
  const compiled = compileExpression(text);
  if ('message' in compiled) return { matches: MATCH_ALL, error: compiled.message, fields: [] };
  return { ...compiled, error: null };
}

function compileWords(text: string): CompiledRunFilter {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = ({ searchText }: RunEntry): boolean =>
    words.every((word) => searchText.includes(word));
  return { matches, error: null, fields: [] };
}

function compileRegex(text: string): CompiledRunFilter {
  const { matches, error } = compileTextFilter({ text, regex: true });
  return {
    matches: ({ name, userNote }) =>
      matches(name) || (userNote.alias !== '' && matches(userNote.alias)),
    error: error === null ? null : `The expression is wrong: ${error.toLowerCase()}.`,
    fields: [],
  };
}

function splitKey(key: string): [string, string] {
  const at = key.indexOf(':');
  return [key.slice(0, Math.max(0, at)), key.slice(at + 1)];
}

export const runFilter = new RunFilter();

/** More exceptions than this make an address too long to copy. */
const MAX_EXCEPTIONS = 200;

/** Which runs are ticked. */
class SelectedRuns {
  readonly #param = pageUrl.param('sel', selectionCodec, AUTO_SELECTION);
  /** What was ticked before one run was shown alone. */
  #before: SelectionState | null = null;

  /**
   * Whether a run is ticked, for who asks about thousands. The newest are those of the runs that pass
   * the filter: what is looked for is also shown.
   */
  readonly isSelected: (name: string) => boolean = $derived.by(() => {
    const { rule, on, off } = this.#param.value;
    if (rule === 'all') return (name) => !off.has(name);
    if (rule === 'none') return (name) => on.has(name);
    const reach = countNewest(rule, runFilter.matching.length);
    const newest = takeFirstNames(runEntries.newestFirst, runFilter.matches, reach);
    return (name) => on.has(name) || (newest.has(name) && !off.has(name));
  });

  setSelected(names: readonly string[], ticked: boolean): void {
    const changed = names.filter((name) => this.isSelected(name) !== ticked);
    if (changed.length > 0) this.#set(withSelected(this.#param.value, changed, ticked));
  }

  /** All that pass the filter, and no others are touched. */
  setMatchingSelected(ticked: boolean): void {
    if (runFilter.matching.length === runEntries.all.length)
      this.#set(makeSelection(ticked ? 'all' : 'none'));
    else
      this.setSelected(
        runFilter.matching.map((entry) => entry.name),
        ticked,
      );
  }

  invert(): void {
    const [on, off]: [string[], string[]] = [[], []];
    for (const { name } of runFilter.matching) (this.isSelected(name) ? on : off).push(name);
    this.#set(withSelected(withSelected(this.#param.value, off, true), on, false));
  }

  selectNewest(count: number): void {
    this.#param.set(makeSelection({ newest: count }), 'push');
  }

  /** Only these; once more brings back what was ticked before. */
  solo(names: readonly string[]): void {
    const current = this.#param.value;
    const isAlone =
      current.rule === 'none' &&
      current.on.size === names.length &&
      names.every((name) => current.on.has(name));
    if (!isAlone) this.#before = current;
    this.#param.set(
      isAlone ? (this.#before ?? AUTO_SELECTION) : makeSelection('none', names),
      'push',
    );
  }

  selectOnly(names: readonly string[]): void {
    this.#param.set(makeSelection('none', names), 'push');
  }

  reset(): void {
    this.#param.set(AUTO_SELECTION);
  }

  #set(selection: SelectionState): void {
    this.#param.set(selection);
    const { on, off } = selection;
    if (on.size + off.size <= MAX_EXCEPTIONS) return;
    const names = runEntries.all.map((entry) => entry.name);
    this.#param.set(selectExactly(new Set(names.filter(this.isSelected)), names));
  }
}

export const selectedRuns = new SelectedRuns();
