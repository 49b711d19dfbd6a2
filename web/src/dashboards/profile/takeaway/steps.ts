import type { Table } from '../../../wall/takeaway/table';
import type { StepsAnswer } from '../data/answers';

/** Every step with its parts, in milliseconds. */
export function makeTable({ names, start_ms, total_ms, parts, other }: StepsAnswer): Table {
  const columns = [
    ['start_ms', start_ms],
    ['total_ms', total_ms],
    ...parts.map(({ name, counted }) => [`${name}_ms`, counted] as const),
    ['other_ms', other],
  ] as const;
  return {
    columns: ['step', ...columns.map(([name]) => name)],
    rows: names.map((name, step) => [name, ...columns.map(([, ms]) => ms[step] ?? null)]),
  };
}
