/** Attachments, keyboard shortcuts, downloads, the clipboard, and work that must not block. */
import * as common from '../catalog/common';

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

/** Shortcuts are written like `f`, `Shift+P` and `Mod+K`; Mod is ⌘ on a Mac, otherwise Ctrl. */
type KeyPress = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey'>;

const MODIFIERS = ['Mod', 'Alt', 'Shift'];

const NON_TEXT_INPUT_TYPES = ['button', 'checkbox', 'color', 'file', 'radio', 'reset', 'submit'];

const PRESSED_BY_SPACE = 'button, summary, input, [role=button], [role=menuitem], [role=option]';

const isMac = (): boolean => /Mac|iPhone|iPad/.test(globalThis.navigator?.platform ?? '');

export function matchesShortcut(keys: string, event: KeyPress): boolean {
  const { key, modifiers } = splitKeys(keys);
  const isLetter = /^[a-z]$/i.test(key);
  // Shift is needed to type symbols such as `?`; it is not part of the shortcut.
  const shiftIsRight =
    (key.length === 1 && !isLetter) || event.shiftKey === modifiers.includes('Shift');
  return (
    event.key.toLowerCase() === key.toLowerCase() &&
    (event.ctrlKey || event.metaKey) === modifiers.includes('Mod') &&
    event.altKey === modifiers.includes('Alt') &&
    shiftIsRight
  );
}

/** Return the key labels of a shortcut, modifiers first. */
export function getKeyLabels(keys: string, mac = isMac()): string[] {
  const { key, modifiers } = splitKeys(keys);
  const caps: Record<string, string> = {
    Mod: mac ? '⌘' : 'Ctrl',
    Alt: mac ? '⌥' : 'Alt',
    Escape: common.keyEscape,
    Shift: common.keyShift,
    Enter: common.keyEnter,
    ArrowLeft: '←',
    ArrowRight: '→',
    ArrowUp: '↑',
    ArrowDown: '↓',
    ' ': common.keySpace,
  };
  const shown = key.length === 1 ? key.toUpperCase() : key;
  return [...modifiers, shown].map((cap) => caps[cap] ?? cap);
}

/** Return whether a key press types text; with ⌘ or Ctrl it does not. */
export function isTyping(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey) return false;
  const target = event.target;
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !NON_TEXT_INPUT_TYPES.includes(target.type);
  return target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName);
}

/** Return whether a key press activates the focused element, so that it is not a shortcut. */
export function isActivating(event: KeyboardEvent): boolean {
  const { key, target } = event;
  return key === ' ' && target instanceof Element && target.matches(PRESSED_BY_SPACE);
}

function splitKeys(keys: string): { key: string; modifiers: string[] } {
  const parts = keys.split(/\+(?=.)/);
  return { key: parts.at(-1) ?? '', modifiers: parts.filter((part) => MODIFIERS.includes(part)) };
}

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

/** Work that yields where it may be interrupted. */
export type Task<Result> = Generator<void, Result>;

/** Maximum time before the event loop gets control back. */
const SLICE_MS = 12;

/**
 * Run a long task in slices, so that the page stays responsive. Return a function that cancels it.
 */
export function runInSlices<Result>(
  work: Task<Result>,
  done: (result: Result) => void,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const go = (): void => {
    const until = performance.now() + SLICE_MS;
    let step = work.next();
    while (!step.done && performance.now() < until) step = work.next();
    if (step.done) done(step.value);
    else timer = setTimeout(go);
  };
  go();
  return () => clearTimeout(timer);
}

export function runToEnd<Result>(work: Task<Result>): Result {
  let step = work.next();
  while (!step.done) step = work.next();
  return step.value;
}

/**
 * Run work after the next paint, so that it does not delay what is being drawn. The work may return
 * a cleanup function. Return a function that cancels or cleans up.
 */
export function runAfterPaint(work: () => unknown): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stop: unknown;
  // One frame to draw and one to present: without a GPU, another thread rasterizes meanwhile.
  let frame = requestAnimationFrame(() => {
    frame = requestAnimationFrame(() => {
      timer = setTimeout(() => (stop = work()));
    });
  });
  return () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    if (typeof stop === 'function') stop();
  };
}
