import type { Sessions } from '../model/column';
import type { Rule, Rules } from '../model/rules';

/** What of the rules the filter of the run table can say, in its language. */
export function expressionOf(sessions: Sessions, rules: Rules, how: string): string {
  return [...rules]
    .flatMap(([key, rule]) => {
      const field = fieldOf(key, how);
      return field !== null && sessions.find(key) ? termsOf(field, rule) : [];
    })
    .join(' and ');
}

/** Metrics of runs below a session are not known of the session itself. */
function fieldOf(key: string, how: string): string | null {
  if (key === 'name') return 'name';
  if (key.startsWith('hparam:')) return nameOf(key.slice('hparam:'.length));
  const [, group, tag] = /^metric:([^|]*)\|(.*)$/s.exec(key) ?? [];
  const isSaid = group === '' && ['last', 'min', 'max'].includes(how);
  return isSaid && tag !== undefined ? `${how}(${quote(tag)})` : null;
}

function termsOf(field: string, { range, values, pattern }: Rule): string[] {
  return [
    ...(range ? [`${field} >= ${range[0]}`, `${field} <= ${range[1]}`] : []),
    ...(values ? [`${field} in (${values.map(nameOf).join(', ')})`] : []),
    ...(pattern ? [`${field} ~ ${quote(pattern)}`] : []),
  ];
}

/** Plain words need no quotes. */
function nameOf(text: string): string {
  const isPlain = /^[\w./-]+$/.test(text) && !/^(?:and|or|not|in|last|min|max)$/i.test(text);
  return isPlain ? text : quote(text);
}

function quote(text: string): string {
  return `"${text.replace(/"/g, '\\"')}"`;
}
