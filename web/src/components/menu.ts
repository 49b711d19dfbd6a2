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

const VIEWPORT_MARGIN_PX = 8;
const POPOVER_GAP_PX = 4;

/** Where a box of a size goes beside another: below it and kept on the screen, else above. */
export function placePopover(
  anchor: DOMRect,
  size: { readonly width: number; readonly height: number },
  align: 'left' | 'right',
): { left: number; top: number } {
  const wanted = align === 'left' ? anchor.left : anchor.right - size.width;
  const left = Math.max(
    VIEWPORT_MARGIN_PX,
    Math.min(wanted, innerWidth - size.width - VIEWPORT_MARGIN_PX),
  );
  const below = anchor.bottom + POPOVER_GAP_PX;
  const fits = below + size.height <= innerHeight - VIEWPORT_MARGIN_PX;
  const top = fits
    ? below
    : Math.max(VIEWPORT_MARGIN_PX, anchor.top - POPOVER_GAP_PX - size.height);
  return { left, top: fits || anchor.top > size.height ? top : VIEWPORT_MARGIN_PX };
}
