/** Load the texts of the page's locale. English needs no loading: it is part of the code. */
import { LOADERS } from '../catalog/loaders';
import { BASE_LOCALE, PSEUDO_LOCALE, locale, setDocumentLanguage } from './locale';
import { addTables, setTransform } from './messages';

/** Load what every page needs and set the `lang` attribute; call it before importing the page. */
export async function loadLocale(): Promise<void> {
  setDocumentLanguage();
  if (locale === PSEUDO_LOCALE) setTransform((await import('./pseudo')).lengthenMessage);
  else await Promise.all([loadTables('start'), loadTables('server')]);
}

/** Import a module after the texts of its namespace, which its constants may use. */
export async function importWithMessages<T>(namespace: string, load: () => Promise<T>): Promise<T> {
  await loadTables(namespace);
  return load();
}

async function loadTables(part: string): Promise<void> {
  if (locale === BASE_LOCALE || locale === PSEUDO_LOCALE) return;
  try {
    addTables((await LOADERS[locale]?.[part]?.())?.tables ?? {});
  } catch (error) {
    // The page works in English, for example if the server was updated meanwhile.
    console.warn(`tracklight: could not load the ${locale} messages of ${part}`, error);
  }
}
