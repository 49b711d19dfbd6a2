import type { TextDiffLine } from '../../../api/text';

/** One line beside another: what took its place, or nothing. */
export interface PairRow {
  readonly before: TextDiffLine | null;
  readonly after: TextDiffLine | null;
}

/** Lines one below the other as rows of two: removed ones beside those that were added there. */
export function pairLines(lines: readonly TextDiffLine[]): PairRow[] {
  const rows: PairRow[] = [];
  let removed: TextDiffLine[] = [];
  let added: TextDiffLine[] = [];
  const flush = (): void => {
    const count = Math.max(removed.length, added.length);
    for (let at = 0; at < count; at++) {
      rows.push({ before: removed[at] ?? null, after: added[at] ?? null });
    }
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.kind === 'removed') removed.push(line);
    else if (line.kind === 'added') added.push(line);
    else {
      flush();
      rows.push({ before: line, after: line });
    }
  }
  flush();
  return rows;
}
