/** The groups of runs that are drawn as bands. */
import type { BandRow, LineRow } from '../api/schemas';
import * as common from '../catalog/common';
import * as m from '../catalog/scalars';
import { getRunSplit, RUN_COLORS, withoutSplit } from '../lib/run-colors';
import { countFolders, findCommonFolder, getFolder } from '../lib/run-names';
import type { RunGroup, Runs } from '../plugin/context';

/** Runs whose series are combined. */
export interface BandGroup extends RunGroup {
  /** The center lines of bands of validation runs are dashed. */
  readonly dash: readonly number[];
}

/** Separates the key of a group and the split; no file name contains it. */
const SEPARATOR = '\0';
const DASHED: readonly number[] = [5, 4];
const SOLID: readonly number[] = [];

/**
 * Return the groups of the run table, or groups by folder if runs are not grouped. Train, validation
 * and test runs of a group are separate bands: their mean would be that of different quantities.
 */
export function makeBandGroups(runs: Pick<Runs, 'groups' | 'visible'>): readonly BandGroup[] {
  const groups = runs.groups.length > 0 ? runs.groups : groupByFolder(runs.visible);
  return groups.flatMap(separateSplits);
}

/**
 * Return the runs that certainly have data in a chart. Of a band only the number of runs is known,
 * so its runs count if all of them have data.
 */
export function listChartRuns(
  {
    lines,
    bands,
  }: {
    readonly lines: readonly Pick<LineRow, 'run'>[];
    readonly bands: readonly Pick<BandRow, 'group' | 'runs'>[];
  },
  groups: readonly BandGroup[],
): ReadonlySet<string> {
  const runsByGroup = new Map(groups.map(({ key, runs }) => [key, runs]));
  const inBands = bands.flatMap(({ group, runs: count }) => {
    const runs = runsByGroup.get(group) ?? [];
    return runs.length === count ? runs : [];
  });
  return new Set([...lines.map(({ run }) => run), ...inBands]);
}

/**
 * Group runs by the folder of their experiment: `vit/seed1` and `vit/seed2/train` belong to `vit`.
 * Experiments that are alone in their folder form one group, and so do all if there is one folder.
 */
function groupByFolder(visible: Runs['visible']): RunGroup[] {
  const experiments = new Map(visible.map(({ name }) => [name, withoutSplit(name)]));
  const distinct = [...new Set(experiments.values())];
  const sizes = countFolders(distinct);
  const commonLength = findCommonFolder(distinct).length;
  const members = new Map<string, string[]>();
  for (const [name, experiment] of experiments) {
    const folder = getFolder(experiment);
    const key = (sizes.get(folder) ?? 0) > 1 ? folder : '';
    members.set(key, [...(members.get(key) ?? []), name]);
  }
  const isOne = members.size === 1;
  return Array.from(members, ([folder, runs], index) => ({
    key: folder,
    label: isOne
      ? m.allRuns({ count: runs.length })
      : folder.slice(commonLength, -1) || common.other,
    color: RUN_COLORS[index % RUN_COLORS.length] ?? RUN_COLORS[0],
    runs,
  }));
}

function separateSplits(group: RunGroup): BandGroup[] {
  const bySplit = new Map<string, string[]>();
  for (const name of group.runs) {
    const split = getRunSplit(name);
    bySplit.set(split, [...(bySplit.get(split) ?? []), name]);
  }
  return Array.from(bySplit, ([split, runs]) => ({
    ...group,
    key: bySplit.size === 1 ? group.key : [group.key, split].join(SEPARATOR),
    label:
      bySplit.size === 1 || split === ''
        ? group.label
        : m.groupSplit({ group: group.label, split }),
    dash: split === '' || split === 'train' ? SOLID : DASHED,
    runs,
  }));
}
