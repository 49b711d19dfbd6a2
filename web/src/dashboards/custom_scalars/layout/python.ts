import type { LayoutChart } from '../../../api/notes';
import { quote } from '../../../wall/takeaway/python';
import type { Layout } from './layout';

/** Lines of Python that log the same layout, so that any TensorBoard shows it, too. */
export function pythonFor(layout: Layout): string {
  return [
    'from tracklight import summary',
    '',
    'layout = {',
    ...layout.flatMap(({ title, charts }) => [
      `    ${quote(title)}: {`,
      ...charts.flatMap(entriesOf).map((entry) => `        ${entry},`),
      '    },',
    ]),
    '}',
    'with summary.create_file_writer("logs/layout").as_default():',
    '    summary.custom_scalars(layout)',
    '',
    '# or, with a SummaryWriter of PyTorch: writer.add_custom_scalars(layout)',
    '',
  ].join('\n');
}

/** This form has one band a chart, so that further ones become charts beside it. */
function entriesOf({ title, tags, margins }: LayoutChart): string[] {
  if (margins.length === 0) return [`${quote(title)}: ["Multiline", ${names(tags)}]`];
  return margins.map(({ value, lower, upper }, at) => {
    const name = at === 0 ? title : `${title} ${at + 1}`;
    return `${quote(name)}: ["Margin", ${names([value, lower, upper])}]`;
  });
}

function names(list: readonly string[]): string {
  return `[${list.map(quote).join(', ')}]`;
}
