const LOWEST = 260;
const HIGHEST = 520;
/** Lines of a comfortable length ask for a card that is not much higher than wide. */
const RATIO = 0.7;

/** How high a card is in a column of that width, in pixels. */
export function cardHeight(width: number): number {
  return Math.round(Math.min(HIGHEST, Math.max(LOWEST, width * RATIO)));
}
