import { formatValue } from '../../../base/format';
import type { Guide } from '../../../charts/types';
import type { Axes, Curve } from './curve';

const LEVELS = [0.2, 0.4, 0.6, 0.8];
/** Odd, so that one is in the middle. */
const POINTS = 65;
const CHANCE_DASH = [4, 4];
/** Parts of positives further apart than this are not told by one line. */
const ALIKE = 0.01;

/** What curves are read against: levels of F1, and what guessing would give. */
export function guidesOf(curves: readonly Curve[], axes: Axes, hasLevels: boolean): Guide[] {
  if (axes === 'ROC') return [chance(Float64Array.of(0, 0.5, 1), Float64Array.of(0, 0.5, 1), 1)];
  const prevalence = findPrevalence(curves);
  const levels = hasLevels ? LEVELS.map(levelOf) : [];
  if (prevalence === null) return levels;
  return [...levels, chance(Float64Array.of(0, 1), Float64Array.of(prevalence, prevalence), 0)];
}

function chance(x: Float64Array, y: Float64Array, wordAt: number): Guide {
  return { id: 'chance', x, y, text: 'chance', wordAt, dash: CHANCE_DASH };
}

/**
 * Where precision and recall have the same harmonic mean: (2 r - f1) (2 p - f1) = f1². Points stand
 * as close along one axis as along the other.
 */
function levelOf(f1: number): Guide {
  const end = Math.log((2 - f1) / f1);
  const at = Float64Array.from(
    { length: POINTS },
    (_, place) => end * ((2 * place) / (POINTS - 1) - 1),
  );
  const x = at.map((power) => (f1 * (1 + Math.exp(power))) / 2);
  const y = at.map((power) => (f1 * (1 + Math.exp(-power))) / 2);
  return { id: `F1 ${f1}`, x, y, text: `F1 ${formatValue(f1)}`, wordAt: (POINTS - 1) / 2 };
}

/** The precision of guessing, where that is the same for all curves. */
function findPrevalence(curves: readonly Curve[]): number | null {
  const parts = curves.map(({ row }) => row.measures?.prevalence ?? NaN);
  const known = parts.filter((part) => !Number.isNaN(part));
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return known.length > 0 && high - low < ALIKE ? (low + high) / 2 : null;
}
