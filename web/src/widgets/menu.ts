import type { IconName } from './icons';

export interface MenuItem {
  readonly label: string;
  readonly icon?: IconName;
  /** A key or a word at the far end. */
  readonly hint?: string;
  /** Set for an item that is a switch. */
  readonly checked?: boolean;
  readonly disabled?: boolean;
  run(): void;
}

const EDGE = 8;
const GAP = 4;

/** Where a box of a size goes beside another: below it and kept on the screen, else above. */
export function placeBeside(
  anchor: DOMRect,
  size: { readonly width: number; readonly height: number },
  align: 'left' | 'right',
): { left: number; top: number } {
  const wanted = align === 'left' ? anchor.left : anchor.right - size.width;
  const left = Math.max(EDGE, Math.min(wanted, innerWidth - size.width - EDGE));
  const below = anchor.bottom + GAP;
  const fits = below + size.height <= innerHeight - EDGE;
  const top = fits ? below : Math.max(EDGE, anchor.top - GAP - size.height);
  return { left, top: fits || anchor.top > size.height ? top : EDGE };
}
