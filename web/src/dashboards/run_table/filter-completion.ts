/** Completions of a filter expression: fields, metrics and values, by what stands before the caret. */
import type { HParamColumn } from '../../api/client';
import type { Option } from '../../components/options';

/** What the runs of the log have. */
export interface FilterFields {
  /** Properties of every run, with an explanation of each. */
  readonly plain: readonly { readonly name: string; readonly hint: string }[];
  readonly hparams: readonly HParamColumn[];
  readonly metrics: readonly string[];
  /** Display names of hyperparameters and metrics, by the keys of their columns. */
  readonly displayNames: Readonly<Record<string, string>>;
  readonly labels: readonly string[];
  readonly states: readonly string[];
}

export interface Completion extends Option {
  /** Replaces the characters from `start` to the caret. */
  readonly insert: string;
  /** The texts that find it: the name, and the display name if there is one; the key by default. */
  readonly names?: readonly string[];
}

export interface Completions {
  readonly start: number;
  readonly options: readonly Completion[];
}

const MAX_COMPLETIONS = 12;
const FUNCTIONS = ['last', 'min', 'max', 'step', 'at'];
const PARTIAL = /[^\s()[\],"'<>=!~:]*$/;
const QUOTED_PARTIAL = /(["'])(?:[^"'\\]|\\.)*$/;
const METRIC_CALL = /\b(?:last|min|max|step)\(\s*$/i;
const AT_CALL = /\bat\(\s*$/i;
const CONFIG_CALL = /\b(?:config|hparam)\(\s*$/i;
/** The field of a comparison or of a list that is being typed. */
const COMPARED = /([^\s()[\],"'<>=!~:]+)\s*(?:[=!<>]=|[=:<>])\s*$/;
const LISTED = /([^\s()[\],"'<>=!~:]+)\s+in\s*[([](?:[^)\]]*,)?\s*$/i;
const PLAIN_WORD = /^[^\s()[\],"'<>=!~:]+$/;

/** Return the completions at a position of the text. */
export function completeFilter(text: string, caret: number, fields: FilterFields): Completions {
  const typed = text.slice(0, caret);
  const hasOpenQuote = (typed.match(/"/g)?.length ?? 0) % 2 === 1;
  const partial = (hasOpenQuote ? QUOTED_PARTIAL : PARTIAL).exec(typed)?.[0] ?? '';
  const start = caret - partial.length;
  const before = typed.slice(0, start);
  const word = partial.replace(/^["']/, '').toLowerCase();
  const options = listCandidates(before, fields, word)
    .filter(({ key, names = [key] }) => {
      const isFound = names.some((name) => name.toLowerCase().includes(word));
      return isFound && key.toLowerCase() !== word;
    })
    .sort((a, b) => rank(a, word) - rank(b, word))
    .slice(0, MAX_COMPLETIONS);
  return { start, options };
}

/** Names that begin with the word come first. */
function rank({ key, names = [key] }: Completion, word: string): number {
  return names.some((name) => name.toLowerCase().startsWith(word)) ? 0 : 1;
}

function listCandidates(before: string, fields: FilterFields, word: string): Completion[] {
  const { displayNames } = fields;
  const isAt = AT_CALL.test(before);
  if (isAt || METRIC_CALL.test(before))
    return fields.metrics.map((tag) => ({
      ...{ key: tag, label: tag, insert: isAt ? `"${tag}", ` : `"${tag}") ` },
      ...describe(tag, displayNames[`last:${tag}`]),
    }));
  if (CONFIG_CALL.test(before))
    return fields.hparams.map(({ name }) => ({
      ...{ key: name, label: name, insert: `"${name}") ` },
      ...describe(name, displayNames[`hparam:${name}`]),
    }));
  const field = (COMPARED.exec(before) ?? LISTED.exec(before))?.[1];
  if (field !== undefined) return listValues(field, fields).map(makeValue);
  // A part of the name of a metric is enough to find it.
  return word === '' ? listTerms(fields) : [...listTerms(fields), ...listLastValues(fields)];
}

/** Explain a name by its display name, and find it by both. */
function describe(name: string, displayName: string | undefined): Partial<Completion> {
  return displayName === undefined
    ? { names: [name] }
    : { names: [name, displayName], hint: displayName };
}

function listLastValues({ metrics, displayNames }: FilterFields): Completion[] {
  return metrics.map((tag) => {
    const call = `last("${tag}")`;
    return {
      key: call,
      label: call,
      insert: `${call} `,
      ...describe(tag, displayNames[`last:${tag}`]),
    };
  });
}

function listValues(field: string, fields: FilterFields): readonly string[] {
  if (field.toLowerCase() === 'state') return fields.states;
  if (/^(tag|labels?)$/i.test(field)) return fields.labels;
  const hparam = fields.hparams.find(({ name }) => name === field);
  return hparam?.values.filter((value) => value !== null).map(String) ?? [];
}

function makeValue(value: string): Completion {
  return { key: value, label: value, insert: `${quote(value)} ` };
}

function listTerms({ plain, hparams, metrics, displayNames }: FilterFields): Completion[] {
  return [
    ...plain.map(({ name, hint }) => ({ key: name, label: name, hint, insert: `${name} ` })),
    ...hparams.map(({ name, values }) => ({
      key: name,
      label: name,
      hint: values.slice(0, 3).map(String).join(', '),
      insert: PLAIN_WORD.test(name) ? `${name} ` : `config("${name}") `,
      ...describe(name, displayNames[`hparam:${name}`]),
    })),
    ...(metrics.length > 0 ? FUNCTIONS : []).map((name) => ({
      key: name,
      label: name === 'at' ? 'at("…", 1000)' : `${name}("…")`,
      hint: metrics[0] ?? '',
      insert: `${name}(`,
    })),
  ];
}

function quote(value: string): string {
  return PLAIN_WORD.test(value) ? value : `"${value.replaceAll('"', '\\"')}"`;
}
