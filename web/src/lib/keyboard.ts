import * as common from '../catalog/common';
/** Keyboard shortcuts such as `f`, `Shift+P` and `Mod+K`; Mod is ⌘ on a Mac, otherwise Ctrl. */

type KeyPress = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey'>;

const MODIFIERS = ['Mod', 'Alt', 'Shift'];

const NON_TEXT_INPUT_TYPES = ['button', 'checkbox', 'color', 'file', 'radio', 'reset', 'submit'];

const PRESSED_BY_SPACE = 'button, summary, input, [role=button], [role=menuitem], [role=option]';

export const isMac = (): boolean => /Mac|iPhone|iPad/.test(globalThis.navigator?.platform ?? '');

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
