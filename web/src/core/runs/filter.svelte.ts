import { flag, text } from '../../base/codec';
import { compileExpression, sayWhere } from '../../base/expression/compile';
import type { Field } from '../../base/expression/syntax';
import { compileFilter } from '../../base/filter';
import { address } from '../address.svelte';
import { columns } from './columns.svelte';
import { entries, type RunEntry } from './entries.svelte';
import { order } from './order.svelte';

export type FilterMode = 'text' | 'regex' | 'expression';

interface Compiled {
  readonly matches: (entry: RunEntry) => boolean;
  /** What is wrong, as a sentence. */
  readonly error: string | null;
  readonly fields: readonly Field[];
}

const MODES: readonly FilterMode[] = ['text', 'regex', 'expression'];
const EVERYTHING = (): boolean => true;

/** Which runs there are in the table. */
class RunFilter {
  readonly #texts = {
    text: address.param('runs', text, ''),
    regex: address.param('runs-re', text, ''),
    expression: address.param('runs-expr', text, ''),
  };
  readonly #hiddenToo = address.param('hidden', flag, false);
  /** How an empty box would be read; the address does not say. */
  #emptyMode = $state<FilterMode>('text');
  /** What held before the mistake that is being typed. */
  #lastRight: Compiled['matches'] = EVERYTHING;

  readonly mode = $derived(MODES.find((mode) => this.#texts[mode].value !== '') ?? this.#emptyMode);
  readonly text = $derived(this.#texts[this.mode].value);
  readonly #compiled = $derived(this.#compile(this.mode, this.text));

  readonly passes: (entry: RunEntry) => boolean = $derived.by(() => {
    const { matches } = this.#compiled;
    if (this.showsHidden) return matches;
    return (entry) => !entry.said.hidden && matches(entry);
  });
  /** Those that pass, in the order of the table. */
  readonly found: readonly RunEntry[] = $derived(order.sorted.filter(this.passes));
  readonly hiddenCount = $derived(entries.all.filter((entry) => entry.said.hidden).length);

  get error(): string | null {
    return this.#compiled.error ?? this.#missing;
  }

  /** Somebody compares something, but in the wrong mode. */
  get looksLikeExpression(): boolean {
    return (
      this.mode === 'text' &&
      /[<>=~:]/.test(this.text) &&
      !('sentence' in compileExpression(this.text))
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

  showHidden(shown: boolean): void {
    this.#hiddenToo.set(shown);
  }

  #compile(mode: FilterMode, text: string): Compiled {
    const compiled = compile(mode, text);
    if (compiled.error !== null) return { ...compiled, matches: this.#lastRight };
    this.#lastRight = compiled.matches;
    return compiled;
  }

  /** The first field that no run has: most likely a slip of the keys. */
  get #missing(): string | null {
    if (!columns.ready) return null;
    const { hparams, metrics } = columns.there;
    for (const { key, at } of this.#compiled.fields) {
      const [kind, name] = splitKey(key);
      if (kind === 'hparam' && !hparams.some((known) => known.name === name))
        return sayWhere(`No run has a hyperparameter “${name}”`, at, this.text);
      if (/^(last|min|max)$/.test(kind) && !metrics.includes(name))
        return sayWhere(`No run has a metric “${name}”`, at, this.text);
    }
    return null;
  }
}

function compile(mode: FilterMode, text: string): Compiled {
  if (text.trim() === '') return { matches: EVERYTHING, error: null, fields: [] };
  if (mode === 'text') return compileWords(text);
  if (mode === 'regex') return compileRegex(text);
  const compiled = compileExpression(text);
  if ('sentence' in compiled) return { matches: EVERYTHING, error: compiled.sentence, fields: [] };
  return { ...compiled, error: null };
}

function compileWords(text: string): Compiled {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = ({ lower }: RunEntry): boolean => words.every((word) => lower.includes(word));
  return { matches, error: null, fields: [] };
}

function compileRegex(text: string): Compiled {
  const { matches, error } = compileFilter({ text, regex: true });
  return {
    matches: ({ name, said }) => matches(name) || (said.alias !== '' && matches(said.alias)),
    error: error === null ? null : `The expression is wrong: ${error.toLowerCase()}.`,
    fields: [],
  };
}

function splitKey(key: string): [string, string] {
  const at = key.indexOf(':');
  return [key.slice(0, Math.max(0, at)), key.slice(at + 1)];
}

export const filter = new RunFilter();
