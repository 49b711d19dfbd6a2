/**
 * Find strings in the page's code that users may see.
 *
 * Text in markup and attributes such as `title` are always visible. In expressions a string counts
 * if it looks like a sentence or a capitalized word, or if it is the value of a property such as
 * `label`. Strings of other kinds (selectors, keys, comparisons, programming errors) are skipped.
 */
import { parse as parseTypeScript } from '@typescript-eslint/parser';
import { parse as parseSvelte } from 'svelte/compiler';

/** Attributes of elements, props of components and properties of objects whose value is shown. */
const VISIBLE_NAMES = new Set(
  `alt ariaLabel aria-label aria-description aria-roledescription aria-valuetext caption description
   emptyText error heading help hint label message note noun placeholder prefix search suffix summary
   text title tooltip unit`.split(/\s+/),
);

/** Attributes and properties whose value is never shown. */
const HIDDEN_NAMES = new Set(
  `autocomplete class code cursor d example fill font font-family href icon id key keys kind name path
   points rel role side sql stroke style tone transform type value variant viewBox`.split(/\s+/),
);

/** Functions whose string arguments are not shown. */
const HIDDEN_CALLEES =
  /(^|\.)(console|querySelector|querySelectorAll|closest|matches|addEventListener|removeEventListener|getAttribute|setAttribute|hasAttribute|removeAttribute|createElement|createElementNS|includes|startsWith|endsWith|split|join|indexOf|lastIndexOf|replace|replaceAll|getContext|setContext|setProperty|getPropertyValue|matchMedia|param|dispatchEvent|has|get|set|delete|test|match|register|postMessage|getItem|setItem|removeItem|supports|import|defineQuery|definePluginQuery)$/;

/** Operators whose operands are compared or looked up, and not shown. */
const COMPARISONS = new Set(['===', '!==', '==', '!=', 'in']);

const LETTERS = /\p{L}/u;
const TWO_WORDS = /\p{L}[\p{L}’'.,:;)-]*\s+[(“"]?\p{L}/u;
const CAPITALIZED = /^[(“"]?\p{Lu}\p{Ll}+[\p{Ll}…?!.:]*$/u;
/** Style values, routes and lines of Python, which are the same in every language. */
const CODE =
  /^(GET|POST|PUT|PATCH|DELETE) |^(color-mix|var|rgba?|hsla?|calc|translate|cubic-bezier)\(|^(from|import|with|for|def|print)\b.*[(:=]|^# |^[\w.]+ = |\w\(.*\)$/;

/**
 * List the visible strings of a file.
 *
 * @returns {{ start: number, end: number, line: number, text: string, kind: string,
 *   expressions: { start: number, end: number }[], name: string | null }[]}
 *   `text` has `{}` for each expression. `kind` is `text` (markup), `attribute` or `expression`.
 */
export function findVisibleStrings(source, path) {
  const found = [];
  if (path.endsWith('.svelte')) {
    const root = parseSvelte(source, { modern: true });
    walk(root.fragment, [], source, found);
    for (const script of [root.module, root.instance])
      if (script) walk(script.content, [], source, found);
  } else {
    walk(parseTypeScript(source, { range: true, sourceType: 'module' }), [], source, found);
  }
  const seen = new Set();
  return found
    .filter(({ start }) => !seen.has(start) && seen.add(start))
    .sort((one, other) => one.start - other.start)
    .map((entry) => ({ ...entry, line: source.slice(0, entry.start).split('\n').length }));
}

function walk(node, parents, source, found) {
  if (node === null || typeof node !== 'object') return;
  if (Array.isArray(node)) {
    for (const child of node) walk(child, parents, source, found);
    return;
  }
  if (typeof node.type !== 'string' || isSkipped(node)) return;
  collect(node, parents, source, found);
  const inner = [...parents, node];
  for (const [key, child] of Object.entries(node)) {
    // The key of a list is not shown.
    if (node.type === 'EachBlock' && key === 'key') continue;
    if (
      !['parent', 'loc', 'range', 'metadata', 'leadingComments', 'trailingComments'].includes(key)
    )
      walk(child, inner, source, found);
  }
}

function isSkipped({ type }) {
  if (/^(Import|Export(All|Named)Declaration$)/.test(type) && type !== 'ExportNamedDeclaration')
    return true;
  if (type === 'StyleSheet' || type === 'Comment') return true;
  const isWrapper = ['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression'].includes(
    type,
  );
  return type.startsWith('TS') && !isWrapper;
}

function collect(node, parents, source, found) {
  if (node.type === 'Fragment') collectMarkup(node, parents, found);
  else if (node.type === 'Literal' && typeof node.value === 'string')
    collectExpression(node, node.value, [], parents, found);
  else if (node.type === 'TemplateLiteral') {
    // The code of a shader.
    if (source.slice(0, getRange(node)[0]).endsWith('/* glsl */ ')) return;
    const text = node.quasis.map((quasi) => quasi.value.cooked).join('{}');
    collectExpression(node, text, node.expressions, parents, found);
  } else if (node.type === 'Attribute' && Array.isArray(node.value))
    collectAttribute(node, parents, found);
}

/** Text between tags, together with the expressions in it: `<p>Step {step} of {count}</p>`. */
function collectMarkup(fragment, parents, found) {
  const element = parents.findLast(({ type }) => type === 'RegularElement');
  // Code and keys are the same in every language.
  if (element && ['code', 'kbd', 'style', 'script'].includes(element.name)) return;
  let run = [];
  for (const node of [...fragment.nodes, null]) {
    if (node?.type === 'Text' || node?.type === 'ExpressionTag') run.push(node);
    else {
      collectRun(run, found);
      run = [];
    }
  }
}

function collectRun(run, found) {
  if (!run.some((node) => node.type === 'Text' && LETTERS.test(node.data))) return;
  const text = run.map((node) => (node.type === 'Text' ? node.data : '{}')).join('');
  const expressions = run.filter(({ type }) => type !== 'Text').map(({ expression }) => expression);
  const before = text.length - text.trimStart().length;
  const after = text.length - text.trimEnd().length;
  const entry = makeEntry(run[0], text.trim(), 'text', null, expressions);
  found.push({ ...entry, start: run[0].start + before, end: run.at(-1).end - after });
}

/** A static attribute, or one that joins text and expressions: `title="Remove {name}"`. */
function collectAttribute(node, parents, found) {
  const text = node.value.map((part) => (part.type === 'Text' ? part.data : '{}')).join('');
  if (!LETTERS.test(text.replaceAll('{}', '')) || !isVisibleAttribute(node, parents.at(-1), text))
    return;
  const expressions = node.value
    .filter(({ type }) => type !== 'Text')
    .map((part) => part.expression);
  const entry = makeEntry(node, text, 'attribute', node.name, expressions);
  found.push({ ...entry, start: node.value[0].start, end: node.value.at(-1).end });
}

function isVisibleAttribute(attribute, owner, text) {
  const { name } = attribute;
  if (VISIBLE_NAMES.has(name)) return true;
  if (HIDDEN_NAMES.has(name) || owner?.type !== 'Component') return false;
  return TWO_WORDS.test(text) || CAPITALIZED.test(text);
}

function collectExpression(node, text, expressions, parents, found) {
  if (!LETTERS.test(text.replaceAll('{}', '')) || CODE.test(text)) return;
  const name = findPropertyName(node, parents);
  if (isHidden(node, parents, name)) return;
  const isVisible =
    (name !== null && VISIBLE_NAMES.has(name) && /\p{L}{2}/u.test(text)) ||
    TWO_WORDS.test(text) ||
    CAPITALIZED.test(text) ||
    (expressions.length > 0 && looksLikeWords(text));
  if (isVisible) found.push(makeEntry(node, text, 'expression', name, expressions));
}

/** A template such as `{} of {}` or `step {}`, but not `{}px` or `var(--{})`. */
function looksLikeWords(text) {
  const words = text.replaceAll('{}', '#');
  return /(^|[\s#(])[\p{L}]{2,}[.:,]?(\s|$)/u.test(words) && /\s/.test(words);
}

/** The attribute, property or variable that the string is the value of. */
function findPropertyName(node, parents) {
  for (let at = parents.length - 1; at >= 0; at--) {
    const parent = parents[at];
    if (parent.type === 'Attribute') return parent.name;
    if (parent.type === 'Property' || parent.type === 'PropertyDefinition')
      return parent.key.name ?? parent.key.value ?? null;
    const isTransparent =
      /^(ConditionalExpression|LogicalExpression|ArrayExpression|TS|ExpressionTag|TemplateLiteral)/.test(
        parent.type,
      ) ||
      (parent.type === 'ArrowFunctionExpression' && parent.body === (parents[at + 1] ?? node));
    if (!isTransparent) return null;
  }
  return null;
}

function isHidden(node, parents, name) {
  if (name !== null && HIDDEN_NAMES.has(name)) return true;
  for (let at = parents.length - 1; at >= 0; at--) {
    const parent = parents[at];
    const child = parents[at + 1] ?? node;
    switch (parent.type) {
      case 'BinaryExpression':
        if (COMPARISONS.has(parent.operator)) return true;
        break;
      case 'SwitchCase':
        return parent.test === child;
      case 'Property':
        if (parent.key === child) return true;
        break;
      case 'MemberExpression':
        return parent.property === child;
      case 'CallExpression':
        return child !== parent.callee && HIDDEN_CALLEES.test(getCalleeName(parent.callee));
      case 'NewExpression':
        return /^(Error|TypeError|RangeError|RegExp|Event|CustomEvent|URL|Worker|SharedWorker)$/.test(
          getCalleeName(parent.callee),
        );
      case 'Attribute':
        return HIDDEN_NAMES.has(parent.name);
      case 'StyleDirective':
      case 'ClassDirective':
        return true;
      case 'TaggedTemplateExpression':
        return true;
      case 'BlockStatement':
      case 'Program':
        return false;
    }
  }
  return false;
}

function getCalleeName(callee) {
  if (callee.type === 'Identifier') return callee.name;
  if (callee.type === 'Import') return 'import';
  if (callee.type !== 'MemberExpression') return '';
  const owner = callee.object.type === 'Identifier' ? callee.object.name : '';
  if (owner === 'console') return 'console';
  return `${owner}.${callee.property.name ?? ''}`;
}

function makeEntry(node, text, kind, name, expressions = []) {
  const [start, end] = getRange(node);
  return {
    start,
    end,
    text,
    kind,
    name,
    expressions: expressions.map((each) => {
      const [from, to] = getRange(each);
      return { start: from, end: to };
    }),
  };
}

function getRange(node) {
  return node.range ?? [node.start, node.end];
}
