import { formatBytes, formatCount } from '../../../base/format';
import type { Column } from '../table/columns';
import { shortOp } from '../table/op-name';
import { formatMs, formatShare } from '../words';
import { UNKNOWN, YES } from './answers';
import type { Grouping, KernelRow } from './rows';

/** Less than this of a device is worth a look. */
const LITTLE = 0.25;

/** The columns of kernels; how they were launched only where that is one way each. */
export function kernelColumns(
  rows: readonly KernelRow[],
  total: number,
  grouping: Grouping,
  compares: boolean,
  occupancyIs: string,
): Column<KernelRow>[] {
  const longest = rows.reduce((most, row) => Math.max(most, row.total), 0);
  const occupancyAbout =
    occupancyIs === 'achieved'
      ? 'How full the multiprocessors were at most, by the size of the grid'
      : 'How full a multiprocessor can get, by registers, shared memory and block';
  return [
    name(grouping),
    ...(grouping === 'op' ? [] : [OP]),
    number(
      'count',
      'Times',
      68,
      ({ count }) => count,
      (count) => formatCount(Math.round(count * 10) / 10),
    ),
    {
      ...number('total', 'Time', 104, (row) => row.total, formatMs),
      bar: (row) => row.total / (longest || 1),
      colour: ({ eligible, tensor }) =>
        tensor === YES
          ? 'var(--good)'
          : eligible && tensor !== UNKNOWN
            ? 'var(--bad)'
            : 'var(--accent)',
    },
    number('share', 'Share', 72, (row) => row.total / (total || 1), formatShare),
    ...(compares ? COMPARED : []),
    number('mean', 'Each', 80, ({ total, count }) => total / (count || NaN), formatMs),
    {
      key: 'tensor',
      title: 'Tensor cores',
      about: 'Whether it multiplies on the units made for that, as its name tells',
      width: 104,
      isText: true,
      value: sayTensor,
      text: sayTensor,
    },
    number(
      'occupancy',
      'Occupancy',
      84,
      ({ occupancy }) => occupancy / 100,
      formatShare,
      occupancyAbout,
    ),
    number(
      'fill',
      'Filled',
      68,
      ({ fill }) => fill,
      formatShare,
      'How many of the multiprocessors the grid has a block for',
    ),
    ...(grouping === 'launch' ? LAUNCH : []),
    number('max', 'Longest', 80, ({ max }) => max, formatMs),
  ];
}

export function isLittle(share: number): boolean {
  return share < LITTLE;
}

/** In words, for who does not see colours. */
export function sayTensor({ tensor, eligible }: KernelRow): string {
  if (tensor === YES) return 'yes';
  if (tensor === UNKNOWN) return 'not known';
  return eligible ? 'no, but could' : '–';
}

function name(grouping: Grouping): Column<KernelRow> {
  const isOp = grouping === 'op';
  const value = ({ name, op }: KernelRow): string => (isOp ? op || name : name);
  return { key: 'name', title: isOp ? 'Op' : 'Kernel', width: 260, isText: true, value };
}

const OP: Column<KernelRow> = {
  key: 'op',
  title: 'Op',
  width: 180,
  isText: true,
  value: ({ op }) => op,
  text: ({ op }) => shortOp(op),
};

const COMPARED: readonly Column<KernelRow>[] = [
  number(
    'before',
    'Before',
    84,
    ({ before }) => before ?? NaN,
    formatMs,
    'Time in the other capture',
  ),
  {
    key: 'change',
    title: 'Change',
    width: 132,
    value: ({ total, before }) => (before === null ? null : total - before),
  },
];

const LAUNCH: readonly Column<KernelRow>[] = [
  numbers('grid', 'Grid', 'How many blocks', ({ grid }) => grid),
  numbers('block', 'Block', 'How many threads a block has', ({ block }) => block),
  number('registers', 'Registers', 78, ({ registers }) => registers, String, 'Of one thread'),
  number('shared', 'Shared', 80, ({ shared }) => shared, formatBytes, 'Shared memory of one block'),
];

/** Three numbers, sorted by their product. */
function numbers(
  key: string,
  title: string,
  about: string,
  of: (row: KernelRow) => string,
): Column<KernelRow> {
  const product = (row: KernelRow): number =>
    of(row) === ''
      ? NaN
      : of(row)
          .split(',')
          .reduce((product, each) => product * Number(each), 1);
  return {
    key,
    title,
    about,
    width: 92,
    value: product,
    text: (row) => of(row).replaceAll(',', ' × '),
  };
}

function number(
  key: string,
  title: string,
  width: number,
  value: (row: KernelRow) => number,
  format: (value: number) => string,
  about = title,
): Column<KernelRow> {
  const text = (row: KernelRow): string => (Number.isNaN(value(row)) ? '' : format(value(row)));
  return { key, title, about, width, value, text };
}
