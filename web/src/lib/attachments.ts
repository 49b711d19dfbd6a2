/** Svelte attachments. */

/** Elements this close to the viewport count as near. */
const ROOT_MARGIN = '300px';

/** Return an attachment that calls `callback` once, when the element comes near the viewport. */
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

/**
 * Attachment of elements that cover the whole window: an ancestor with a container query would be
 * the limit of `position: fixed`.
 */
export function moveToBody(node: HTMLElement): () => void {
  document.body.append(node);
  return () => node.remove();
}
