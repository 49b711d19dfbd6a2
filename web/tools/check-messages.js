/**
 * Check the messages of the page: `node tools/check-messages.js`.
 *
 * - Every English message has a translation with the same arguments in every locale.
 * - No visible string is inline.
 * - No message is unused.
 * - The messages of a dashboard are only used by that dashboard.
 * - A message with arguments is called.
 *
 * Strings that are the same in every language are listed in tools/untranslated.json.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { BASE_LOCALE, START, parseMessage, readMessages } from './compile-messages.js';
import { findVisibleStrings } from './visible-strings.js';

const WEB = dirname(dirname(fileURLToPath(import.meta.url)));

/** Folders without inline strings. */
const DONE = ['src'];

const WORKSPACE_CARDS = 'src/dashboards/workspaces/kinds';

/** Where the messages of a namespace are used; a dashboard's are used in its own folder. */
const USERS = {
  cards: ['src/cards'],
  charts: ['src/charts', 'src/notebook'],
  common: ['src'],
  runs: ['src/shell'],
  scalars: ['src/scalar-cards', 'src/dashboards/scalars'],
  shell: ['src/shell', 'src/state', 'src/plugin', 'src/dashboards/index.ts'],
  tour: ['src/shell'],
  image_export: ['src/scalar-cards'],
  workspaces: ['src/cards/workspace', 'src/dashboards/workspaces'],
  // A card of another dashboard on a workspace is loaded after the texts of that dashboard.
  hparams: ['src/dashboards/hparams', WORKSPACE_CARDS],
  images: ['src/dashboards/images', WORKSPACE_CARDS],
  run_table: ['src/dashboards/run_table', WORKSPACE_CARDS],
};

/** Generated code, tests, Python to copy, and the component gallery, which is not part of the page. */
const NOT_CHECKED =
  /\.test\.ts$|^src\/(catalog|gallery)\/|^src\/api\/schemas\.ts$|^src\/dashboards\/examples\.ts$/;

const CATALOG_IMPORT = /import \* as (\w+) from '[./]+\/catalog\/(\w+)'/g;
const KEY = /^[a-z][A-Za-z0-9]*$/;

/** Return what is wrong with the translations. */
export function checkTranslations(messages) {
  const { [BASE_LOCALE]: english, ...translations } = messages;
  const problems = [];
  for (const [namespace, texts] of Object.entries(english)) {
    const keys = Object.keys(texts);
    if (keys.join() !== [...keys].sort().join())
      problems.push(`${BASE_LOCALE}/${namespace}.json: sort the keys`);
    for (const key of keys)
      if (!KEY.test(key)) problems.push(`${namespace}.${key}: write the key in camelCase`);
    for (const [locale, others] of Object.entries(translations)) {
      const other = others[namespace] ?? {};
      for (const key of Object.keys(other))
        if (!(key in texts)) problems.push(`${locale}: ${namespace}.${key} is not in English`);
      for (const [key, text] of Object.entries(texts)) {
        const where = `${locale}: ${namespace}.${key}`;
        if (!(key in other)) problems.push(`${where} is missing`);
        else problems.push(...compareArguments(where, text, other[key], locale));
      }
    }
  }
  return problems;
}

function compareArguments(where, text, translation, locale) {
  try {
    const expected = parseMessage(text, BASE_LOCALE).types;
    const actual = parseMessage(translation, locale).types;
    const unknown = [...actual.keys()].filter((name) => !expected.has(name));
    // A language without plural forms may need no number.
    const missing = [...expected].filter(([name, type]) => type === 'any' && !actual.has(name));
    return [
      ...unknown.map((name) => `${where} has the unknown argument {${name}}`),
      ...missing.map(([name]) => `${where} lacks the argument {${name}}`),
    ];
  } catch (error) {
    return [`${where}: ${error.message.split('\n')[0]}`];
  }
}

/** Return what is wrong with the uses of messages in some files, by path relative to web/. */
export function checkUses(sources, messages, done = DONE) {
  const english = messages[BASE_LOCALE];
  const used = new Map(Object.keys(english).map((namespace) => [namespace, new Set()]));
  const problems = [];
  for (const [path, source] of sources) {
    for (const [, alias, namespace] of source.matchAll(CATALOG_IMPORT)) {
      // Otherwise the texts of a dashboard would be part of the code that every page loads.
      const folders = USERS[namespace] ?? [`src/dashboards/${namespace}`];
      if (!START.includes(namespace) && !isIn(path, folders))
        problems.push(`${path}: catalog/${namespace} is only for ${folders[0]}`);
      // Shown as text: `{m.more}` in markup or in a template, but not `message={m.more}`.
      const uses = new RegExp(`((?<!=)\\{\\s*)?\\b${alias}\\.(\\w+)(\\s*\\})?`, 'g');
      for (const [, before, key, after] of source.matchAll(uses)) {
        const text = english[namespace]?.[key];
        if (text === undefined) continue; // Not a message; otherwise the type check reports it.
        used.get(namespace).add(key);
        if (before && after && parseMessage(text, BASE_LOCALE).types.size > 0)
          problems.push(`${path}: ${alias}.${key} has arguments and must be called`);
      }
    }
    if (isIn(path, done)) problems.push(...checkInlineStrings(path, source));
  }
  for (const [namespace, keys] of used) {
    const users = USERS[namespace] ?? [`src/dashboards/${namespace}`];
    if (!users.every((folder) => isIn(folder, done))) continue;
    for (const key of Object.keys(english[namespace]))
      if (!keys.has(key)) problems.push(`${namespace}.${key} is not used`);
  }
  return problems;
}

const untranslated = new Set(
  JSON.parse(readFileSync(join(WEB, 'tools', 'untranslated.json'), 'utf8')),
);

function checkInlineStrings(path, source) {
  return findVisibleStrings(source, path)
    .filter(({ text }) => !untranslated.has(text.trim()))
    .map(
      ({ line, text }) => `${path}:${line}: inline string “${text.trim().replace(/\s+/g, ' ')}”`,
    );
}

function isIn(path, folders) {
  return folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
}

function* readSources() {
  const entries = readdirSync(join(WEB, 'src'), { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const path = relative(WEB, join(entry.parentPath, entry.name)).replaceAll('\\', '/');
    if (entry.isFile() && /\.(svelte|ts)$/.test(path) && !NOT_CHECKED.test(path))
      yield [path, readFileSync(join(WEB, path), 'utf8')];
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const messages = readMessages();
  const folders = process.argv.slice(2);
  const done = folders.length > 0 ? folders.map((folder) => folder.replace(/\/$/, '')) : DONE;
  const problems = [...checkTranslations(messages), ...checkUses(readSources(), messages, done)];
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) console.error(`${problems.length} problems with messages`);
  process.exitCode = problems.length > 0 ? 1 : 0;
}
