/** How far beyond the screen things are already got ready. */
const ROOT_MARGIN = '300px';

/** Calls `tell` once, when an element comes near the screen. */
export function onNearViewport(tell: () => void): (element: Element) => () => void {
  return (element) => {
    const seen = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
        seen.disconnect();
        tell();
      },
      { rootMargin: ROOT_MARGIN },
    );
    seen.observe(element);
    return () => seen.disconnect();
  };
}
