/** Copy a text. Browsers offer `navigator.clipboard` only on localhost and over HTTPS. */
export function copyText(text: string): void {
  if (navigator.clipboard)
    void navigator.clipboard.writeText(text).catch(() => copyWithTextarea(text));
  else copyWithTextarea(text);
}

function copyWithTextarea(text: string): void {
  const textarea = document.createElement('textarea');
  const focused = document.activeElement;
  textarea.value = text;
  document.body.append(textarea);
  textarea.select();
  document.execCommand('copy');
  textarea.remove();
  if (focused instanceof HTMLElement) focused.focus();
}
