/**
 * Attachment of elements that cover the whole window: an ancestor with a container query would be
 * the limit of `position: fixed`.
 */
export function moveToBody(node: HTMLElement): () => void {
  document.body.append(node);
  return () => node.remove();
}
