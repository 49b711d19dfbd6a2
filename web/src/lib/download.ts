/** Save content as a file. */
export function downloadBlob(content: Blob, name: string): void {
  const address = URL.createObjectURL(content);
  downloadUrl(address, name);
  // The download has started by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Download a URL. The server names the file unless a name is given. */
export function downloadUrl(address: string, name = ''): void {
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
}

/** Return a file name that is valid on all file systems. */
export function toFileName(title: string): string {
  return title.replace(/[^\p{L}\p{N}._-]+/gu, '_').replace(/^[._]+|_+$/g, '') || 'card';
}

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
