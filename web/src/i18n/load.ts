/** Load the texts of the page's locale. English needs no loading: it is part of the code. */
import { LOADERS, SERVER_LOADERS } from '../catalog/loaders';
import {
  addTables,
  locale,
  type Message,
  PSEUDO_LOCALE,
  setDocumentLanguage,
  setServerMessages,
  setTransform,
} from './messages';

/** Load what every page needs and set the `lang` attribute; call it before importing the page. */
export async function loadLocale(): Promise<void> {
  setDocumentLanguage();
  if (locale === PSEUDO_LOCALE) setTransform(lengthenMessage);
  else await Promise.all([loadTables('start'), loadServerMessages()]);
}

/** Import a module after the texts of its namespace, which its constants may use. */
export async function importWithMessages<T>(namespace: string, load: () => Promise<T>): Promise<T> {
  await loadTables(namespace);
  return load();
}

async function loadTables(part: string): Promise<void> {
  const module = await tryImport(LOADERS[locale]?.[part]);
  if (module) addTables(module.tables);
}

async function loadServerMessages(): Promise<void> {
  const module = await tryImport(SERVER_LOADERS[locale]);
  if (module) setServerMessages(module.serverMessages);
}

/** Import a module if there is one; without it the page is in English. */
async function tryImport<T>(load: (() => Promise<T>) | undefined): Promise<T | undefined> {
  try {
    return await load?.();
  } catch (error) {
    // For example if the server was updated after the page was opened.
    console.warn(`tracklight: could not load messages in ${locale}`, error);
    return undefined;
  }
}

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
