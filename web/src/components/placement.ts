/** Places tooltips and popovers next to what they belong to. The library is loaded on demand. */
import type { autoUpdate, ComputePositionConfig, ReferenceElement } from '@floating-ui/dom';

type Library = Pick<
  typeof import('@floating-ui/dom'),
  'autoUpdate' | 'computePosition' | 'flip' | 'offset' | 'shift' | 'size'
>;

let library: Library | undefined;

/** Load the library, so that the first popover needs no request. */
export async function loadPlacement(): Promise<Library> {
  if (!library) {
    const { autoUpdate, computePosition, flip, offset, shift, size } =
      await import('@floating-ui/dom');
    library = { autoUpdate, computePosition, flip, offset, shift, size };
  }
  return library;
}

/** Where a box is relative to its anchor, in the terms of the library. */
export type PlacementOptions = (
  library: Library,
) => Pick<ComputePositionConfig, 'placement' | 'middleware'>;

/**
 * Keep a fixed box next to an anchor until the returned function is called. While the library is
 * being loaded the box is invisible; `onVisible` is called when it no longer is.
 */
export function keepPlaced(
  anchor: ReferenceElement,
  box: HTMLElement,
  getOptions: PlacementOptions,
  onVisible: () => void = () => undefined,
): () => void {
  let stop: ReturnType<typeof autoUpdate> | undefined;
  let isEnded = false;

  function start(loaded: Library): void {
    const options = { ...getOptions(loaded), strategy: 'fixed' } as const;
    stop = loaded.autoUpdate(anchor, box, () => {
      void loaded.computePosition(anchor, box, options).then(({ x, y }) => {
        box.style.left = `${Math.round(x)}px`;
        box.style.top = `${Math.round(y)}px`;
      });
    });
    onVisible();
  }

  function startLater(loaded?: Library): void {
    if (isEnded) return;
    box.style.visibility = '';
    if (loaded) start(loaded);
    else onVisible();
  }

  if (library) start(library);
  else {
    box.style.visibility = 'hidden';
    // A box in the wrong place is better than none.
    loadPlacement().then(startLater, () => startLater());
  }
  return () => {
    isEnded = true;
    stop?.();
  };
}
