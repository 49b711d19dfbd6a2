/** The language of the page: the one chosen in the settings, otherwise the browser's. */

/** Languages that can be chosen, by locale, each in its own words. */
export const LANGUAGES = { en: 'English', 'zh-CN': '简体中文' } as const;

export type Locale = keyof typeof LANGUAGES;

/** English with accents and 40 % more text, to find layouts that do not hold. For tests only. */
export const PSEUDO_LOCALE = 'en-XA';

export const BASE_LOCALE: Locale = 'en';

const STORAGE_KEY = 'tracklight.language';

/** Return the supported locale of a language tag such as `zh-Hant-TW`, if there is one. */
export function matchLocale(tag: string): Locale | null {
  const language = tag.toLowerCase().split('-')[0];
  if (language === 'zh') return 'zh-CN';
  return language === 'en' ? 'en' : null;
}

/** Return the locale to use: the stored choice, else the first supported browser language. */
export function chooseLocale(
  stored: string | null,
  browserLanguages: readonly string[],
): Locale | typeof PSEUDO_LOCALE {
  if (stored === PSEUDO_LOCALE) return PSEUDO_LOCALE;
  if (stored !== null && stored in LANGUAGES) return stored as Locale;
  for (const tag of browserLanguages) {
    const match = matchLocale(tag);
    if (match) return match;
  }
  return BASE_LOCALE;
}

/** Return the stored choice; null follows the browser. */
export function readStoredLanguage(): string | null {
  try {
    return globalThis.localStorage?.getItem(STORAGE_KEY) ?? null;
  } catch {
    return null; // A frame without storage follows the browser.
  }
}

/** Store the choice and reload the page in that language; null follows the browser. */
export function setLanguage(language: Locale | null): void {
  try {
    if (language === null) localStorage.removeItem(STORAGE_KEY);
    else localStorage.setItem(STORAGE_KEY, language);
  } catch {
    // Without storage the choice cannot be kept.
  }
  location.reload();
}

/** The locale of this page. It does not change while the page is open. */
export const locale = chooseLocale(readStoredLanguage(), globalThis.navigator?.languages ?? []);

/** The locale for `Intl` and for the `lang` attribute. */
export const intlLocale: string = locale === PSEUDO_LOCALE ? BASE_LOCALE : locale;

/** Tell the browser and assistive technology the language of the page. */
export function setDocumentLanguage(): void {
  document.documentElement.lang = intlLocale;
}
