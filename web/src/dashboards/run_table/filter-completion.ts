/** Completions of a filter expression: fields, metrics and values, by what stands before the caret. */
import type { HParamColumn } from '../../api/client';
import type { Option } from '../../components/options';

/** What the runs of the log have. */
export interface FilterFields {
  /** Properties of every run, with an explanation of each. */
  readonly plain: readonly { readonly name: string; readonly hint: string }[];
  readonly hparams: readonly HParamColumn[];
  readonly metrics: readonly string[];
  readonly labels: readonly string[];
  readonly states: readonly string[];
}

export interface Completion extends Option {
  /** Replaces the characters from `start` to the caret. */
  readonly insert: string;
}

export interface Completions {
  readonly start: number;
  readonly options: readonly Completion[];
}

const MAX_COMPLETIONS = 12;
const FUNCTIONS = ['last', 'min', 'max', 'step'];
const PARTIAL = /[^\s()[\],"'<>=!~:]*$/;
const QUOTED_PARTIAL = /(["'])(?:[^"'\\]|\\.)*$/;
const METRIC_CALL = /\b(?:last|min|max|step)\(\s*$/i;
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
  const options = listCandidates(before, fields)
    .filter(({ key }) => key.toLowerCase().includes(word) && key.toLowerCase() !== word)
    .sort((a, b) => rank(a, word) - rank(b, word))
    .slice(0, MAX_COMPLETIONS);
  return { start, options };
}

/** Names that begin with the word come first. */
function rank({ key }: Completion, word: string): number {
  return key.toLowerCase().startsWith(word) ? 0 : 1;
}

function listCandidates(before: string, fields: FilterFields): Completion[] {
  if (METRIC_CALL.test(before))
    return fields.metrics.map((tag) => ({ key: tag, label: tag, insert: `"${tag}") ` }));
  if (CONFIG_CALL.test(before))
    return fields.hparams.map(({ name }) => ({ key: name, label: name, insert: `"${name}") ` }));
  const field = (COMPARED.exec(before) ?? LISTED.exec(before))?.[1];
  if (field !== undefined) return listValues(field, fields).map(makeValue);
  return listTerms(fields);
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

function listTerms({ plain, hparams, metrics }: FilterFields): Completion[] {
  return [
    ...plain.map(({ name, hint }) => ({ key: name, label: name, hint, insert: `${name} ` })),
    ...hparams.map(({ name, values }) => ({
      key: name,
      label: name,
      hint: values.slice(0, 3).map(String).join(', '),
      insert: PLAIN_WORD.test(name) ? `${name} ` : `config("${name}") `,
    })),
    ...(metrics.length > 0 ? FUNCTIONS : []).map((name) => ({
      key: name,
      label: `${name}("…")`,
      hint: metrics[0] ?? '',
      insert: `${name}(`,
    })),
  ];
}

function quote(value: string): string {
  return PLAIN_WORD.test(value) ? value : `"${value.replaceAll('"', '\\"')}"`;
}
