import { formatValue } from '../../../base/format';
import type { Guide } from '../../../charts/types';
import type { Axes, Curve } from './curve';

const LEVELS = [0.2, 0.4, 0.6, 0.8];
const POINTS = 64;
const CHANCE_DASH = [4, 4];
/** Parts of positives further apart than this are not told by one line. */
const ALIKE = 0.01;

/** What curves are read against: levels of F1, and what guessing would give. */
export function guidesOf(curves: readonly Curve[], axes: Axes, hasLevels: boolean): Guide[] {
  if (axes === 'ROC') return [chance(Float64Array.of(0, 1), Float64Array.of(0, 1))];
  const prevalence = findPrevalence(curves);
  const levels = hasLevels ? LEVELS.map(levelOf) : [];
  if (prevalence === null) return levels;
  return [...levels, chance(Float64Array.of(0, 1), Float64Array.of(prevalence, prevalence))];
}

function chance(x: Float64Array, y: Float64Array): Guide {
  return { id: 'chance', x, y, text: 'chance', dash: CHANCE_DASH };
}

/** Where precision and recall have the same harmonic mean. */
function levelOf(f1: number): Guide {
  const least = f1 / (2 - f1);
  const x = Float64Array.from(
    { length: POINTS },
    (_, at) => least + ((1 - least) * at) / (POINTS - 1),
  );
  const y = x.map((recall) => (f1 * recall) / (2 * recall - f1));
  return { id: `F1 ${f1}`, x, y, text: `F1 ${formatValue(f1)}` };
}

/** The precision of guessing, where that is the same for all curves. */
function findPrevalence(curves: readonly Curve[]): number | null {
  const parts = curves.map(({ row }) => row.measures?.prevalence ?? NaN);
  const known = parts.filter((part) => !Number.isNaN(part));
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return known.length > 0 && high - low < ALIKE ? (low + high) / 2 : null;
}
