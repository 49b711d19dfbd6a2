import type { Part } from '../tiles/part';

/** The edge of an event in a lane that is nearest to a moment, if it is no further than `reach`. */
export function snap(
  parts: readonly Part[],
  lane: number | null,
  moment: number,
  reach: number,
): number {
  let nearest = moment;
  let distance = reach;
  const consider = (edge: number): void => {
    const away = Math.abs(edge - moment);
    if (away >= distance) return;
    [nearest, distance] = [edge, away];
  };
  if (lane === null) return moment;
  for (const { lanes, start, duration } of parts) {
    for (let at = lanes[lane] ?? 0; at < (lanes[lane + 1] ?? 0); at++) {
      const began = start[at] ?? 0;
      if (began > moment + reach) break;
      consider(began);
      consider(began + (duration[at] ?? 0));
    }
  }
  return nearest;
}
