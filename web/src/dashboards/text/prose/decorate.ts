import { lowerLevels } from './levels';

/** What a text gets that is read in the page: code can be copied, wide things scroll by themselves. */
export function decorate(element: HTMLElement): void {
  lowerHeadings(element);
  for (const block of element.querySelectorAll<HTMLElement>('pre')) addCopyButton(block);
  for (const table of element.querySelectorAll('table')) makeScrollable(table, 'Table');
  for (const formula of element.querySelectorAll('div > math[display="block"]')) {
    makeScrollable(formula, 'Formula');
  }
}

/** The title of a card. */
const CARD_LEVEL = 3;

/** For who listens to the page, headings of a text stand below that of its card. */
function lowerHeadings(element: HTMLElement): void {
  const headings = [...element.querySelectorAll('h1, h2, h3, h4, h5, h6')];
  const levels = headings.map(({ localName }) => Number(localName.slice(1)));
  lowerLevels(levels, CARD_LEVEL).forEach((level, at) => {
    headings[at]?.setAttribute('aria-level', String(level));
  });
}

const SAID_MS = 1500;

function addCopyButton(block: HTMLElement): void {
  const box = wrap(block, 'code');
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', () => void copy(block, button));
  box.append(button);
  reachable(block, 'Code');
}

async function copy(block: HTMLElement, button: HTMLButtonElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(block.textContent ?? '');
    button.textContent = 'Copied';
  } catch {
    // Without leave to use the clipboard the lines are at least marked for Ctrl-C.
    getSelection()?.selectAllChildren(block);
    button.textContent = 'Press Ctrl-C';
  }
  setTimeout(() => (button.textContent = 'Copy'), SAID_MS);
}

function makeScrollable(element: Element, name: string): void {
  reachable(wrap(element, 'wide'), name);
}

/** What scrolls sideways has to be scrolled by keyboard as well. */
function reachable(element: HTMLElement, name: string): void {
  element.tabIndex = 0;
  element.setAttribute('role', 'group');
  element.setAttribute('aria-label', name);
}

function wrap(element: Element, name: string): HTMLDivElement {
  const box = document.createElement('div');
  box.className = name;
  element.replaceWith(box);
  box.append(element);
  return box;
}
