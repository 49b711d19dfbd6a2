/**
 * The language of the page, and what the generated modules in src/catalog are built on: the tables of the
 * chosen locale, plural forms and numbers in its language. Also translates sentences of the server, which
 * carry a message code and arguments.
 */
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

type Value = string | number;
type Values = Record<string, Value>;

/** A message: its text, or a function of its arguments. */
// A generated function has its own argument type, which a common one cannot be assigned to.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Message = string | ((values: any) => string);

/** Messages by namespace, in the order of the English ones. */
export type Tables = Record<string, readonly Message[]>;

/** Sentences of the server by message code. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type ServerMessages = Record<string, (values: any) => string>;

const tables: Tables = {};
let serverMessages: ServerMessages = {};
let transformMessage: ((message: Message) => Message) | null = null;

/** Use these texts instead of the English ones, in modules of the catalog that load later. */
export function addTables(added: Tables): void {
  Object.assign(tables, added);
}

/** Use these sentences for the message codes of the server. */
export function setServerMessages(messages: ServerMessages): void {
  serverMessages = messages;
}

/** Derive every message from the English one, for the pseudo-locale. */
export function setTransform(transform: (message: Message) => Message): void {
  transformMessage = transform;
}

/** Return the messages of a namespace in the chosen locale. */
export function choose<T extends readonly Message[]>(namespace: string, english: T): T {
  if (transformMessage) return english.map(transformMessage) as unknown as T;
  return (tables[namespace] as T | undefined) ?? english;
}

/** Return the sentence for a message code of the server, if there is a translation. */
export function findServerMessage(code: string, values: Values): string | null {
  return Object.hasOwn(serverMessages, code) ? (serverMessages[code]?.(values) ?? null) : null;
}

/** Return an argument as text; numbers are grouped as the language does. */
export function show(value: Value): string {
  return typeof value === 'number' ? formatNumber(value) : value;
}

/** Return the form of a message for a number: an exact `=1`, else the plural category. */
export function plural(count: number, forms: Record<string, string>): string {
  return forms[`=${count}`] ?? forms[getPluralRules().select(count)] ?? forms.other ?? '';
}

/** Return the form of a message for a word. */
export function select(word: string, forms: Record<string, string>): string {
  return (Object.hasOwn(forms, word) ? forms[word] : forms.other) ?? '';
}

let pluralRules: Intl.PluralRules | null = null;

function getPluralRules(): Intl.PluralRules {
  return (pluralRules ??= new Intl.PluralRules(intlLocale));
}

/**
 * Group the digits of a number. English and Chinese do it alike, so this equals
 * `Intl.NumberFormat`, whose first use takes tens of milliseconds before the first chart is drawn.
 */
function formatNumber(value: number): string {
  const [whole = '', fraction] = String(value).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/** A sentence of the server: English text, and what to translate it by. */
interface ServerMessage {
  readonly code: string;
  readonly text: string;
  readonly args: Readonly<Record<string, Argument>>;
}

type Argument = string | number | ServerMessage;

/** An error of the server: what failed, and what to do about it. */
export interface ServerProblem {
  readonly message: string;
  readonly hint: string;
  readonly code?: string;
  readonly args?: Readonly<Record<string, Argument>>;
  readonly hint_code?: string;
}

/** Return a sentence in the language of the page; the English one if there is no translation. */
export function translate({ code, text, args }: ServerMessage): string {
  return translateCode(code, args) ?? text;
}

/** Return an error in the language of the page, without the codes. */
export function translateProblem(problem: ServerProblem): { message: string; hint: string } {
  const { message, hint, code = '', args = {}, hint_code: hintCode = '' } = problem;
  const translated = translateCode(code, args);
  return {
    message: translated === null ? message : endSentence(translated),
    hint: translateCode(hintCode, {}) ?? hint,
  };
}

function translateCode(code: string, args: Readonly<Record<string, Argument>>): string | null {
  if (code === '') return null;
  const values = Object.entries(args).map(([name, value]) => [
    name,
    typeof value === 'object' ? translate(value) : value,
  ]);
  return findServerMessage(code, Object.fromEntries(values));
}

/** The sentences of the catalog have no full stop, as they may be part of others. */
function endSentence(text: string): string {
  return /[。？！.?!]$/.test(text) ? text : `${text}。`;
}
