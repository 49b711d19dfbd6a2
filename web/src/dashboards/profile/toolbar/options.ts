import { formatBytes, formatMoment, formatStep } from '../../../base/format';
import { groupOptions, type Option, type OptionGroup } from '../../../widgets/picker';
import type { CaptureRow } from '../data/answers';

export type LabelOf = (run: string) => string;

/** The run of a capture, and which of its captures it is where there are several. */
export function nameOf(row: CaptureRow, rows: readonly CaptureRow[], labelOf: LabelOf): string {
  const run = labelOf(row.run) || '.';
  const siblings = rows.filter((other) => other.run === row.run);
  if (siblings.length < 2) return run;
  const isAlone = siblings.filter(({ step }) => step === row.step).length === 1;
  const place = row.step === null || !isAlone ? row.title : `step ${formatStep(row.step)}`;
  return `${run} · ${place}`;
}

/** Captures to choose from, by the runs that they are of. */
export function optionsOf(
  rows: readonly CaptureRow[],
  chosen: CaptureRow | undefined,
  labelOf: LabelOf,
): OptionGroup[] {
  return groupOptions(
    rows,
    ({ run }) => labelOf(run) || '.',
    (row) => optionOf(row, nameOf(row, rows, labelOf), row.id === chosen?.id),
  );
}

function optionOf(row: CaptureRow, label: string, chosen: boolean): Option {
  const { session, bytes, wall_s } = row;
  const title = `${session} · ${formatBytes(bytes)} · ${formatMoment(new Date(wall_s * 1000))}`;
  return { key: row.id, label, hint: formatBytes(bytes), title, chosen };
}
