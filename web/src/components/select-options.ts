/** Options of Select and Segmented. */

export interface LabeledOption<Value extends string> {
  readonly value: Value;
  readonly label: string;
  /** Longer explanation, shown as a tooltip. */
  readonly title?: string;
}

/** A plain string or a pair is the former way to write an option. */
export type SelectOption<Value extends string> =
  LabeledOption<Value> | readonly [value: Value, label: string] | Value;

export function toOption<Value extends string>(option: SelectOption<Value>): LabeledOption<Value> {
  if (typeof option === 'string') return { value: option, label: option };
  if ('value' in option) return option;
  return { value: option[0], label: option[1] };
}
