import { board } from '../../../core/board.svelte';

export function copyNames(names: readonly string[]): void {
  void navigator.clipboard.writeText(names.join('\n'));
}

/** The folders that the runs were logged to. */
export function copyPaths(names: readonly string[]): void {
  void navigator.clipboard.writeText(names.map(pathOf).join('\n'));
}

/** With several roots the name of a run begins with the one of its root. */
function pathOf(run: string): string {
  const roots = board.about?.roots ?? [];
  const root = roots.find(({ name }) => name && (run === name || run.startsWith(`${name}/`)));
  const [first] = roots;
  if (root) return join(root.path, run.slice(root.name.length + 1));
  return first ? join(first.path, run) : run;
}

function join(folder: string, name: string): string {
  return name === '' || name === '.' ? folder : `${folder.replace(/\/+$/, '')}/${name}`;
}
