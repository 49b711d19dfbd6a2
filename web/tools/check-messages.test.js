import { expect, test } from 'vitest';

import { checkTranslations, checkUses } from './check-messages.js';
import { compileMessages } from './compile-messages.js';
import { findVisibleStrings } from './visible-strings.js';

const list = (source, path = 'x.svelte') =>
  findVisibleStrings(source, path).map(({ text }) => text);

test('text and visible attributes of markup are found', () => {
  const source = `<p class="a b">Step {step} of {count}</p><Button icon="close" label="Close" />
    <img alt="A {kind}" src="Images/x.png" /><code>import x</code>`;
  expect(list(source)).toEqual(['Step {} of {}', 'Close', 'A {}']);
});

test('sentences in expressions are found, identifiers are not', () => {
  const source = `
    import x from './Some Module';
    const a = { label: 'runs', kind: 'Runs', title: \`Remove \${name}\` };
    if (event.key === 'Escape') throw new Error('No such thing');
    const b = [\`\${x}px\`, 'color-mix(in srgb, red 10%, blue)', 'No data yet', 'image/png'];
    type Mode = 'Some mode';`;
  expect(list(source, 'x.ts')).toEqual(['runs', 'Remove {}', 'No data yet']);
});

test('shaders are skipped', () => {
  expect(findVisibleStrings('const a = /* glsl */ `void main() { x; }`;', 'a.ts')).toEqual([]);
});

test('a key of a list is not shown', () => {
  expect(list('{#each rows as row (`tag ${row} x`)}{row}{/each}')).toEqual([]);
});

test('missing, unknown and incomplete translations are reported', () => {
  const en = { a: { close: 'Close', more: '{count} more', name: 'Name {name}' } };
  const zh = { a: { close: '关闭', more: '更多', old: '旧' } };
  expect(checkTranslations({ en, 'zh-CN': zh })).toEqual([
    'zh-CN: a.old is not in English',
    'zh-CN: a.more lacks the argument {count}',
    'zh-CN: a.name is missing',
  ]);
});

test('a plural form that the language does not have is reported', () => {
  const en = { a: { runs: '{count, plural, one {# run} other {# runs}}' } };
  const zh = { a: { runs: '{count, plural, one {# 个} other {# 个}}' } };
  expect(checkTranslations({ en, 'zh-CN': zh })).toHaveLength(1);
  expect(checkTranslations({ en, 'zh-CN': { a: { runs: '{count} 个运行' } } })).toEqual([]);
});

test('inline strings, unused messages and missing calls are reported', () => {
  const messages = { en: { audio: { close: 'Close', more: '{count} more', old: 'Old' } } };
  const source = `<script>import * as m from '../../catalog/audio';</script>{m.close}{m.more}Hi`;
  const path = 'src/dashboards/audio/View.svelte';
  expect(checkUses([[path, source]], messages, ['src/dashboards/audio'])).toEqual([
    `${path}: m.more has arguments and must be called`,
    `${path}:1: inline string “{}{}Hi”`,
    'audio.old is not used',
  ]);
  expect(checkUses([[path, source]], messages, [])).toHaveLength(1);
});

test('messages are compiled to strings and functions', () => {
  const modules = compileMessages({
    en: { common: { close: 'Close `x`', runs: '{count, plural, one {# run} other {# runs}}' } },
    'zh-CN': { common: { close: '关闭', runs: '{count} 个运行' }, server: {} },
  });
  const english = modules.get('common.ts');
  expect(english).toContain('(values: { count: number }) => string');
  expect(english).toContain('"Close `x`"');
  expect(modules.get('zh-CN/start.ts')).toContain('(v) => `${show(v.count)} 个运行`');
});
