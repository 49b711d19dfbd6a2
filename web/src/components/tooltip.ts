import { autoUpdate, computePosition, flip, offset, shift } from '@floating-ui/dom';

const SHOW_DELAY_MS = 400;
const GAP_PX = 6;
const MARGIN_PX = 8;

let sequence = 0;

/**
 * Return an attachment that shows a text next to an element while the pointer rests on it or the
 * keyboard focuses it. Escape hides it. Unlike `title`, it can be styled and reached by keyboard.
 * The text repeats the accessible name of the element, so it is hidden from assistive technology.
 */
export function tooltip(getText: () => string): (element: HTMLElement) => () => void {
  return (element) => {
    const ending = new AbortController();
    const { signal } = ending;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let hide: (() => void) | undefined;

    const close = (): void => {
      clearTimeout(timer);
      hide?.();
      hide = undefined;
    };
    const open = (): void => {
      close();
      if (getText() !== '' && element.isConnected) hide = showTooltip(element, getText());
    };
    const openLater = (event: PointerEvent): void => {
      if (event.pointerType === 'touch') return;
      close();
      timer = setTimeout(open, SHOW_DELAY_MS);
    };

    element.addEventListener('pointerenter', openLater, { signal });
    element.addEventListener('pointerleave', close, { signal });
    element.addEventListener('pointerdown', close, { signal });
    element.addEventListener('focusin', () => element.matches(':focus-visible') && open(), {
      signal,
    });
    element.addEventListener('focusout', close, { signal });
    element.addEventListener('keydown', close, { signal });
    return () => {
      close();
      ending.abort();
    };
  };
}

function showTooltip(anchor: HTMLElement, text: string): () => void {
  const box = document.createElement('div');
  box.className = 'element-tooltip';
  box.id = `tooltip-${++sequence}`;
  box.popover = 'manual';
  box.ariaHidden = 'true';
  box.textContent = text;
  // In the same container, so that the tooltip inherits its color scheme.
  anchor.after(box);
  box.showPopover();
  const place = async (): Promise<void> => {
    const { x, y } = await computePosition(anchor, box, {
      strategy: 'fixed',
      placement: 'bottom',
      middleware: [offset(GAP_PX), flip(), shift({ padding: MARGIN_PX })],
    });
    box.style.translate = `${Math.round(x)}px ${Math.round(y)}px`;
  };
  const stop = autoUpdate(anchor, box, () => void place());
  return () => {
    stop();
    box.remove();
  };
}
