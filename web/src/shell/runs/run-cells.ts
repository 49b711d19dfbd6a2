/** Titles and cell texts of columns of the run table. */

import type { ColumnListResponse, HParamColumn } from '../../api/schemas';
import * as common from '../../catalog/common';
import * as m from '../../catalog/runs';
import type { FieldValue } from '../../lib/filter-expression';
import {
  formatAgoOrDate,
  formatCount,
  formatDateTime,
  formatDuration,
  formatValue,
} from '../../lib/format';

/** The text of a cell or heading, and the tooltip with the full text or exact value. */
export interface CellText {
  readonly text: string;
  readonly title: string;
}

const EMPTY_CELL: CellText = { text: '', title: '' };

export function formatCell(key: string, value: FieldValue, now: Date): CellText {
  if (value === null) return EMPTY_CELL;
  if (typeof value === 'object') return sameText(value.join(', '));
  if (typeof value !== 'number') return sameText(String(value));
  switch (key) {
    case 'start':
      return formatTimeCell(new Date(value * 1000), now);
    case 'duration':
      return { text: formatDuration(value), title: common.seconds({ seconds: value.toFixed(1) }) };
    case 'points':
      return { text: formatCount(value), title: common.pointCount({ count: value }) };
    case 'tags':
      return { text: formatCount(value), title: common.tagCount({ count: value }) };
    default:
      return { text: formatValue(value), title: String(value) };
  }
}

/** Event files may contain invalid times. */
function formatTimeCell(time: Date, now: Date): CellText {
  if (Number.isNaN(time.getTime())) return EMPTY_CELL;
  return { text: formatAgoOrDate(time, now), title: formatDateTime(time) };
}

function sameText(text: string): CellText {
  return { text, title: text };
}

/** Text is aligned left, numbers right. */
export function isTextColumn(key: string, hparams: readonly HParamColumn[]): boolean {
  if (!key.startsWith('hparam:')) return key === 'note' || key === 'labels';
  const hparam = hparams.find(({ name }) => name === key.slice('hparam:'.length));
  return hparam !== undefined && hparam.type !== 'number';
}

const PLAIN_TITLES: Readonly<Record<string, string>> = {
  start: common.startTime,
  duration: common.duration,
  points: common.points,
  tags: m.columnTags,
  labels: common.tags,
  note: m.editNotes,
  run: common.run,
  group: m.groupByChip,
};

/** Return the heading of a column. */
export function columnTitle(key: string, available: ColumnListResponse): CellText {
  const colon = key.indexOf(':');
  if (colon < 0) return sameText(PLAIN_TITLES[key] ?? key);
  const name = key.slice(colon + 1);
  const tag = available.display_names[key] ?? name;
  // Tooltips have the name that filters use.
  switch (key.slice(0, colon)) {
    case 'last':
      return { text: tag, title: m.columnLastOf({ tag: name }) };
    case 'min':
      return { text: m.columnMinShort({ tag }), title: m.columnMinOf({ tag: name }) };
    case 'max':
      return { text: m.columnMaxShort({ tag }), title: m.columnMaxOf({ tag: name }) };
    default:
      return { text: tag, title: m.columnHparam({ name }) };
  }
}
