/**
 * Levels for the headings of a text that stands below a heading of level `above`: whichever levels
 * the text uses, none is left out on the way down.
 */
export function lowerLevels(levels: readonly number[], above: number): number[] {
  const used = levels.filter((level, at) => levels.indexOf(level) === at).sort((a, b) => a - b);
  let before = above;
  return levels.map((level) => {
    before = Math.min(above + 1 + used.indexOf(level), before + 1);
    return before;
  });
}
