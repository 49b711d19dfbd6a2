/** What a filter expression says, freed of how it was written. */

export type Operator = '=' | '!=' | '<' | '<=' | '>' | '>=' | '~' | ':';

/** What is known of a run under a key such as `name`, `hparam:lr` or `last:val/acc`. */
export interface Field {
  readonly key: string;
  /** Where the expression names it. */
  readonly at: number;
}

export interface Literal {
  readonly text: string;
  readonly at: number;
}

export type Expression =
  | { readonly kind: 'all' | 'any'; readonly parts: readonly Expression[] }
  | { readonly kind: 'not'; readonly part: Expression }
  | { readonly kind: 'word'; readonly text: string }
  | {
      readonly kind: 'compare';
      readonly field: Field;
      readonly operator: Operator;
      readonly value: Literal;
    }
  | { readonly kind: 'in'; readonly field: Field; readonly values: readonly Literal[] };

/** Words that name something every run has; any other names a hyperparameter. */
const OWN_FIELDS: Readonly<Record<string, string>> = {
  name: 'name',
  run: 'name',
  alias: 'alias',
  note: 'note',
  label: 'labels',
  labels: 'labels',
  tag: 'labels',
  start: 'start',
  duration: 'duration',
  points: 'points',
  tags: 'tags',
};

export function keyOfField(name: string): string {
  return OWN_FIELDS[name.toLowerCase()] ?? `hparam:${name}`;
}

/** All fields that the expression looks at. */
export function fieldsOf(expression: Expression): Field[] {
  switch (expression.kind) {
    case 'all':
    case 'any':
      return expression.parts.flatMap(fieldsOf);
    case 'not':
      return fieldsOf(expression.part);
    case 'word':
      return [];
    default:
      return [expression.field];
  }
}
