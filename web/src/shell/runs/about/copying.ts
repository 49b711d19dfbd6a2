import { board } from '../../../core/board.svelte';

export function copyNames(names: readonly string[]): void {
  copy(names.join('\n'));
}

/** The folders that the runs were logged to. */
export function copyPaths(names: readonly string[]): void {
  copy(names.map(pathOf).join('\n'));
}

/** Browsers have no clipboard for pages from another machine without encryption; but they copy. */
function copy(text: string): void {
  if (navigator.clipboard) void navigator.clipboard.writeText(text).catch(() => copyMarked(text));
  else copyMarked(text);
}

function copyMarked(text: string): void {
  const box = document.createElement('textarea');
  const before = document.activeElement;
  box.value = text;
  document.body.append(box);
  box.select();
  document.execCommand('copy');
  box.remove();
  if (before instanceof HTMLElement) before.focus();
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
