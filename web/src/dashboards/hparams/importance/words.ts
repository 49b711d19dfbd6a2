import type { ImportanceBar } from '../data/answers';

/** A share as a whole number of hundredths. */
export function sayShare(share: number): string {
  const hundredths = Math.round(100 * share);
  return hundredths === 0 && share > 0 ? '< 1 %' : `${hundredths} %`;
}

/** Which way is better, or where. */
export function sayBar({ direction, best }: ImportanceBar): string {
  if (best) return `best ${best}`;
  if (direction === 0) return '';
  return direction > 0 ? 'better when higher' : 'better when lower';
}
