import type { ChartAnswer } from '../api/scalars';
import { assignColours, runColour } from '../base/colour';
import type { Line } from '../charts/types';
import { columnsOf } from '../curves/data/drawing';
import { oddMarks } from '../curves/data/marks';

/** A line for each run, in colours that no two share as long as there are enough. */
export function drawLines(answer: ChartAnswer): Line[] {
  const colours = assignColours(answer.lines.map(({ run }) => run));
  return answer.lines.map((line) => ({
    id: line.run,
    label: line.run,
    colour: colours.get(line.run) ?? runColour(line.run),
    dash: [],
    axis: 0,
    ...columnsOf(line, answer.grid),
    marks: oddMarks(line),
  }));
}
