/** The pseudo-locale: English with accents and 40 % more text, to test layouts. */
import type { Message } from './messages';

const ACCENTED: Record<string, string> = {
  a: 'á',
  c: 'ç',
  e: 'é',
  i: 'í',
  n: 'ñ',
  o: 'ö',
  u: 'ü',
  A: 'Å',
  E: 'É',
  O: 'Ö',
  S: 'Š',
};
const EXTRA = 0.4;

/** Return a text with accents, lengthened by 40 % and enclosed in brackets. */
export function lengthen(text: string): string {
  const letters = [...text].map((letter) => ACCENTED[letter] ?? letter).join('');
  // Symbols and single letters stay as short as they are in every language.
  if (!/\p{L}{2}/u.test(text)) return text;
  const extra = Math.ceil(text.length * EXTRA) - 2;
  return `[${letters}${'~'.repeat(Math.max(0, extra))}]`;
}

/** Return a message whose text is lengthened. */
export function lengthenMessage(message: Message): Message {
  return typeof message === 'string' ? lengthen(message) : (values) => lengthen(message(values));
}
