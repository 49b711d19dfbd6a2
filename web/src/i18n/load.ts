/** Load the texts of the page's locale. English needs no loading: it is part of the code. */
import { LOADERS, SERVER_LOADERS } from '../catalog/loaders';
import { PSEUDO_LOCALE, locale, setDocumentLanguage } from './locale';
import { addTables, setServerMessages, setTransform } from './messages';

/** Load what every page needs and set the `lang` attribute; call it before importing the page. */
export async function loadLocale(): Promise<void> {
  setDocumentLanguage();
  if (locale === PSEUDO_LOCALE) setTransform((await import('./pseudo')).lengthenMessage);
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
