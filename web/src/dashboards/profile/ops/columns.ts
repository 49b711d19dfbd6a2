import { formatCount } from '../../../base/format';
import type { Column } from '../table/columns';
import { formatMs, formatShare } from '../words';
import type { Grouping, OpRow } from './rows';

/** The columns of ops; with another capture, how their times have changed. */
export function opColumns(
  rows: readonly OpRow[],
  total: number,
  grouping: Grouping,
  compares: boolean,
  colour = 'var(--accent)',
): Column<OpRow>[] {
  const longest = rows.reduce((most, { now }) => Math.max(most, now.self), 0);
  const share = ({ now }: OpRow): number => now.self / (total || 1);
  return [
    {
      key: 'name',
      title: grouping === 'type' ? 'Type' : 'Op',
      width: 220,
      isText: true,
      value: ({ name }) => name,
    },
    ...(grouping === 'op' ? [TYPE] : []),
    COUNT,
    {
      key: 'self',
      title: 'Self time',
      about: 'Without what ran inside of it',
      width: 108,
      value: ({ now }) => now.self,
      text: ({ now }) => formatMs(now.self),
      bar: ({ now }) => now.self / (longest || 1),
      colour: () => colour,
    },
    {
      key: 'share',
      title: 'Share',
      about: 'Of the self time of all ops',
      width: 76,
      value: share,
      text: (row) => formatShare(share(row)),
    },
    ...(compares ? [BEFORE, CHANGE] : []),
    {
      key: 'mean',
      title: 'Self, each',
      about: 'Self time of one call',
      width: 92,
      value: meanOf,
      text: (row) => formatMs(meanOf(row)),
    },
    {
      key: 'total',
      title: 'Total',
      about: 'With all that ran inside of it',
      width: 88,
      value: ({ now }) => now.total,
      text: ({ now }) => formatMs(now.total),
    },
  ];
}

const TYPE: Column<OpRow> = {
  key: 'type',
  title: 'Type',
  width: 150,
  isText: true,
  value: ({ type }) => type,
  text: ({ type }) => type,
};

const COUNT: Column<OpRow> = {
  key: 'count',
  title: 'Times',
  about: 'How often it was called; a call that launches several kernels counts once',
  width: 72,
  value: ({ now }) => now.count,
  text: ({ now }) => formatCount(Math.round(now.count * 10) / 10),
};

const BEFORE: Column<OpRow> = {
  key: 'before',
  title: 'Before',
  about: 'Self time in the other capture',
  width: 88,
  value: ({ before }) => before?.self ?? null,
  text: ({ before }) => (before ? formatMs(before.self) : ''),
};

const CHANGE: Column<OpRow> = {
  key: 'change',
  title: 'Change',
  about: 'How much more or less self time than in the other capture',
  width: 136,
  value: ({ now, before }) => (before ? now.self - before.self : null),
};

function meanOf({ now }: OpRow): number {
  return now.count > 0 ? now.self / now.count : NaN;
}
