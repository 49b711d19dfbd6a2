import type { Spot } from '../layout/types';
import { middleOf } from './curve';
import type { DrawnLink } from './drawing';

export interface Label extends Spot {
  readonly id: string;
  readonly text: string;
}

/** What flows through links, each once where several run along one line. */
export function labelsOf(links: readonly DrawnLink[]): Label[] {
  const labels = new Map<string, Label>();
  for (const { id, link, route } of links) {
    if (link.label === '' || link.isControl) continue;
    const { x, y } = middleOf(route);
    labels.set(`${Math.round(x)} ${Math.round(y)}`, { id, x, y, text: link.label });
  }
  return [...labels.values()];
}
