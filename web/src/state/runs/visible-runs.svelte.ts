import * as common from '../../catalog/common';
import { flag, text } from '../../lib/codecs';
import { compileTextFilter } from '../../lib/text-filter';
import { type Field } from '../../lib/filter-expression';
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
import type { Param, UrlState } from '../../plugin/context';
import type { RunColumnValues, RunEntries, RunEntry, RunOrder } from './run-entries.svelte';

export type FilterMode = 'text' | 'regex' | 'expression';
/** The parser of queries, which few pages need. */
type FilterLanguage = typeof import('../../lib/filter-expression');

interface CompiledRunFilter {
  readonly matches: (entry: RunEntry) => boolean;
  /** What is wrong with the text. */
  readonly error: string | null;
  readonly fields: readonly Field[];
}

const MODES: readonly FilterMode[] = ['text', 'regex', 'expression'];
const MATCH_ALL = (): boolean => true;
const MATCH_NONE = (): boolean => false;

/** The filter of the table: words, a regular expression or a query over columns. */
export class RunFilter {
  readonly #entries: RunEntries;
  readonly #order: RunOrder;
  readonly #columnValues: RunColumnValues;
  readonly #texts: Readonly<Record<FilterMode, Param<string>>>;
  readonly #showsHidden: Param<boolean>;
  /** The mode of an empty filter, which the URL does not contain. */
  #emptyMode = $state<FilterMode>('text');
  #language = $state.raw<FilterLanguage | null>(null);
  #isLoadingLanguage = false;
  /** The last valid filter; used while the text is invalid. */
  #lastValid: CompiledRunFilter['matches'] | null = null;

  readonly mode: FilterMode = $derived.by(
    () => MODES.find((mode) => this.#texts[mode].value !== '') ?? this.#emptyMode,
  );
  readonly text: string = $derived.by(() => this.#texts[this.mode].value);
  readonly #compiled = $derived(this.#compile(this.mode, this.text));

  readonly matches: (entry: RunEntry) => boolean = $derived.by(() => {
    const { matches } = this.#compiled;
    if (this.showsHidden) return matches;
    return (entry) => !entry.userNote.hidden && matches(entry);
  });
  /** The runs that match, in the order of the table; of a large log, those that charts show. */
  readonly matching: readonly RunEntry[] = $derived.by(
    () => this.#entries.list?.visible ?? this.#order.sorted.filter(this.matches),
  );
  readonly matchingCount = $derived.by(
    () =>
      this.#entries.list?.counts.matched ??
      (this.#entries.isLarge ? this.#entries.count : this.matching.length),
  );
  readonly hiddenCount = $derived.by(
    () =>
      this.#entries.list?.counts.hidden ??
      this.#entries.all.filter((entry) => entry.userNote.hidden).length,
  );

  constructor(url: UrlState, entries: RunEntries, order: RunOrder, columnValues: RunColumnValues) {
    this.#entries = entries;
    this.#order = order;
    this.#columnValues = columnValues;
    this.#texts = {
      text: url.param('runs', text, ''),
      regex: url.param('runs-regex', text, ''),
      expression: url.param('runs-query', text, ''),
    };
    this.#showsHidden = url.param('show-hidden', flag, false);
  }

  get error(): string | null {
    return this.syntaxError ?? this.#entries.list?.error ?? this.#describeUnknownField();
  }

  get syntaxError(): string | null {
    return this.#compiled.error;
  }

  /** Whether the text is a valid query although the mode is plain text. */
  get looksLikeExpression(): boolean {
    if (this.mode !== 'text' || !/[<>=~:]/.test(this.text)) return false;
    const language = this.#getLanguage();
    return language !== null && !('message' in language.compileExpression(this.text));
  }

  /** Columns that the query reads. */
  get columns(): string[] {
    return this.#compiled.fields.map((field) => field.key);
  }

  get showsHidden(): boolean {
    return this.#showsHidden.value;
  }

  set(text: string, mode: FilterMode = this.mode): void {
    this.#emptyMode = mode;
    if (mode === 'expression') this.#getLanguage();
    for (const other of MODES) this.#texts[other].set(other === mode ? text : '');
  }

  setShowHidden(shown: boolean): void {
    this.#showsHidden.set(shown);
  }

  #compile(mode: FilterMode, text: string): CompiledRunFilter {
    const compiled = this.#compileText(mode, text);
    if (compiled === null) {
      return { matches: this.#lastValid ?? MATCH_NONE, error: null, fields: [] };
    }
    if (compiled.error !== null && this.#lastValid) {
      return { ...compiled, matches: this.#lastValid };
    }
    this.#lastValid = compiled.matches;
    return compiled;
  }

  /** Return null while the parser is loading. */
  #compileText(mode: FilterMode, text: string): CompiledRunFilter | null {
    if (text.trim() === '') return { matches: MATCH_ALL, error: null, fields: [] };
    if (mode === 'text') return compileWords(text);
    if (mode === 'regex') return compileRegex(text);
    const compiled = this.#getLanguage()?.compileExpression(text);
    if (!compiled) return null;
    if ('message' in compiled) return { matches: MATCH_ALL, error: compiled.message, fields: [] };
    return { ...compiled, error: null };
  }

  /** Return null and start loading if it is not loaded yet. */
  #getLanguage(): FilterLanguage | null {
    if (!this.#language && !this.#isLoadingLanguage) {
      this.#isLoadingLanguage = true;
      void import('../../lib/filter-expression')
        .then((language) => (this.#language = language))
        // Without a connection; the next text tries again.
        .catch(() => (this.#isLoadingLanguage = false));
    }
    return this.#language;
  }

  /** Report the first field that no run has, which is most likely a typo. */
  #describeUnknownField(): string | null {
    if (!this.#columnValues.isReady) return null;
    const { hparams, metrics } = this.#columnValues.available;
    for (const { key, offset } of this.#compiled.fields) {
      const [kind, name] = splitKey(key);
      const isUnknownMetric = /^(last|min|max)$/.test(kind) && !metrics.includes(name);
      const isUnknownHparam = kind === 'hparam' && !hparams.some((known) => known.name === name);
      if (!isUnknownHparam && !isUnknownMetric) continue;
      const message = isUnknownHparam
        ? common.filterUnknownHparam({ name })
        : common.filterUnknownMetric({ name });
      return this.#language?.withLocation(message, offset, this.text) ?? message;
    }
    return null;
  }
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
    error,
    fields: [],
  };
}

function splitKey(key: string): [string, string] {
  const at = key.indexOf(':');
  return [key.slice(0, Math.max(0, at)), key.slice(at + 1)];
}

/** More exceptions than this make a URL too long to share. */
const MAX_EXCEPTIONS = 200;

/** Which runs are selected, that is shown in charts. */
export class SelectedRuns {
  readonly #entries: RunEntries;
  readonly #filter: RunFilter;
  readonly selection: Param<SelectionState>;
  /** The selection before one run was shown alone. */
  #beforeSolo: SelectionState | null = null;

  /** A function, to be read once for thousands of runs. The newest runs are those of the filter. */
  readonly isSelected: (name: string) => boolean = $derived.by(() => {
    const { rule, on, off } = this.selection.value;
    const { list } = this.#entries;
    if (list) return (name) => on.has(name) || (list.isSelectedByRule(name) && !off.has(name));
    if (rule === 'all') return (name) => !off.has(name);
    if (rule === 'none') return (name) => on.has(name);
    const count = countNewest(rule, this.#filter.matching.length);
    const newest = takeFirstNames(this.#entries.newestFirst, this.#filter.matches, count);
    return (name) => on.has(name) || (newest.has(name) && !off.has(name));
  });

  /** The number of selected runs that match the filter. */
  readonly count = $derived.by(() => {
    const { isSelected } = this;
    const { list } = this.#entries;
    if (list) return list.counts.selected;
    return this.#filter.matching.reduce((sum, { name }) => sum + (isSelected(name) ? 1 : 0), 0);
  });

  constructor(url: UrlState, entries: RunEntries, filter: RunFilter) {
    this.#entries = entries;
    this.#filter = filter;
    this.selection = url.param('selected', selectionCodec, AUTO_SELECTION);
  }

  setSelected(names: readonly string[], selected: boolean): void {
    const { list } = this.#entries;
    if (list) return list.setSelected(names, selected);
    const changed = names.filter((name) => this.isSelected(name) !== selected);
    if (changed.length > 0) this.#set(withSelected(this.selection.value, changed, selected));
  }

  /**
   * Select or deselect the runs that match the filter; others do not change, except in a large log,
   * whose runs cannot all be named.
   */
  setMatchingSelected(selected: boolean): void {
    if (this.#entries.isLarge || this.#filter.matching.length === this.#entries.all.length)
      this.#set(makeSelection(selected ? 'all' : 'none'));
    else
      this.setSelected(
        this.#filter.matching.map((entry) => entry.name),
        selected,
      );
  }

  invert(): void {
    const { list } = this.#entries;
    if (list) return list.invert();
    const [on, off]: [string[], string[]] = [[], []];
    for (const { name } of this.#filter.matching) (this.isSelected(name) ? on : off).push(name);
    this.#set(withSelected(withSelected(this.selection.value, off, true), on, false));
  }

  selectNewest(count: number): void {
    this.selection.set(makeSelection({ newest: count }), 'push');
  }

  /** Select only these; called again for the same runs, restore the previous selection. */
  solo(names: readonly string[]): void {
    const current = this.selection.value;
    const isSolo =
      current.rule === 'none' &&
      current.on.size === names.length &&
      names.every((name) => current.on.has(name));
    if (!isSolo) this.#beforeSolo = current;
    this.selection.set(
      isSolo ? (this.#beforeSolo ?? AUTO_SELECTION) : makeSelection('none', names),
      'push',
    );
  }

  selectOnly(names: readonly string[]): void {
    this.selection.set(makeSelection('none', names), 'push');
  }

  reset(): void {
    this.selection.set(AUTO_SELECTION);
  }

  #set(selection: SelectionState): void {
    this.selection.set(selection);
    const { on, off } = selection;
    if (on.size + off.size <= MAX_EXCEPTIONS) return;
    const names = this.#entries.all.map((entry) => entry.name);
    this.selection.set(selectExactly(new Set(names.filter(this.isSelected)), names));
  }
}
