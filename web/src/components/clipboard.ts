/** Copy text and return whether that worked. Pages served over plain HTTP have no clipboard API. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyFromTextArea(text);
  }
}

function copyFromTextArea(text: string): boolean {
  const previousFocus = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  area.style.position = 'fixed';
  area.style.opacity = '0';
  // Within a modal dialog, elements outside it cannot be focused.
  (previousFocus?.closest('dialog, [popover]') ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  if (previousFocus instanceof HTMLElement) previousFocus.focus({ preventScroll: true });
  return isCopied;
}
