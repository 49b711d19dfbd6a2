import * as common from '../catalog/common';
import { getRegexError } from './text-filter';

/** A syntax error at an offset of the expression. */
export class ExpressionError extends Error {
  constructor(
    message: string,
    readonly offset: number,
  ) {
    super(message);
  }
}

export type TokenKind = 'word' | 'string' | 'operator' | '(' | ')' | ',' | 'end';

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly offset: number;
}

const SPACE = /\s*/y;
const OPERATOR = /<=|>=|!=|==|[<>=~:]/y;
const STRING = /"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'/y;
const WORD = /[^\s()[\],"'<>=!~:]+/y;
/** Lists may use round or square brackets. */
const BRACKETS: Readonly<Record<string, TokenKind>> = {
  '(': '(',
  ')': ')',
  '[': '(',
  ']': ')',
  ',': ',',
};

export function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let at = skip(text, 0);
  while (at < text.length) {
    const [token, end] = readToken(text, at);
    tokens.push(token);
    at = skip(text, end);
  }
  tokens.push({ kind: 'end', text: '', offset: text.length });
  return tokens;
}

function readToken(text: string, at: number): [Token, number] {
  const sign = text[at] ?? '';
  const bracket = BRACKETS[sign];
  if (bracket) return [{ kind: bracket, text: sign, offset: at }, at + 1];
  const operator = matchAt(OPERATOR, text, at);
  if (operator) return [{ kind: 'operator', text: operator[0], offset: at }, OPERATOR.lastIndex];
  const string = matchAt(STRING, text, at);
  if (string) return [{ kind: 'string', text: unquote(string), offset: at }, STRING.lastIndex];
  const word = matchAt(WORD, text, at);
  if (word) return [{ kind: 'word', text: word[0], offset: at }, WORD.lastIndex];
  const isQuote = sign === '"' || sign === "'";
  throw new ExpressionError(
    isQuote
      ? common.filterErrorUnclosedQuote({ quote: sign })
      : common.filterErrorUnexpectedCharacter({ character: sign }),
    at,
  );
}

function skip(text: string, at: number): number {
  matchAt(SPACE, text, at);
  return SPACE.lastIndex;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Unescape quotes only: other backslashes have a meaning in regular expressions. */
function unquote(match: RegExpExecArray): string {
  return (match[1] ?? match[2] ?? '').replace(/\\(["'])/g, '$1');
}

/** The syntax tree of a filter expression. */

export type Operator = '=' | '!=' | '<' | '<=' | '>' | '>=' | '~' | ':';

/** A property of runs with a key such as `name`, `hparam:lr` or `last:val/acc`. */
export interface Field {
  readonly key: string;
  /** Offset in the expression. */
  readonly offset: number;
}

export interface Literal {
  readonly text: string;
  readonly offset: number;
}

export type Expression =
  | { readonly kind: 'all' | 'any'; readonly parts: readonly Expression[] }
  | { readonly kind: 'not'; readonly part: Expression }
  | { readonly kind: 'word'; readonly text: string }
  | {
      readonly kind: 'compare';
      readonly field: Field;
      readonly operator: Operator;
      readonly value: Literal;
    }
  | { readonly kind: 'in'; readonly field: Field; readonly values: readonly Literal[] };

/** Properties that every run has; any other name is a hyperparameter. */
const BUILT_IN_FIELDS: Readonly<Record<string, string>> = {
  name: 'name',
  run: 'name',
  alias: 'alias',
  note: 'note',
  label: 'labels',
  labels: 'labels',
  tag: 'labels',
  start: 'start',
  duration: 'duration',
  points: 'points',
  tags: 'tags',
};

export function getFieldKey(name: string): string {
  return BUILT_IN_FIELDS[name.toLowerCase()] ?? `hparam:${name}`;
}

/** Return all fields of an expression. */
export function listFields(expression: Expression): Field[] {
  switch (expression.kind) {
    case 'all':
    case 'any':
      return expression.parts.flatMap(listFields);
    case 'not':
      return listFields(expression.part);
    case 'word':
      return [];
    default:
      return [expression.field];
  }
}

const AGGREGATES = ['last', 'min', 'max'];

/**
 * Parse an expression such as `lr < 0.01 and tag:best`. Adjacent terms are combined with `and`; a
 * single word must occur in the name. Throws an ExpressionError.
 */
export function parseExpression(text: string): Expression {
  return new Parser(tokenize(text)).parse();
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): Expression {
    if (this.#peek().kind === 'end') return { kind: 'all', parts: [] };
    const whole = this.#parseAny();
    if (this.#peek().kind !== 'end') throw this.#makeError(common.filterErrorUnmatchedClose);
    return whole;
  }

  #parseAny(): Expression {
    const parts = [this.#parseAll()];
    while (this.#takeWord('or')) parts.push(this.#parseAll());
    return joinParts('any', parts);
  }

  #parseAll(): Expression {
    const parts = [this.#parseNot()];
    while (this.#takeWord('and') || this.#startsTerm()) parts.push(this.#parseNot());
    return joinParts('all', parts);
  }

  #parseNot(): Expression {
    if (this.#takeWord('not')) return { kind: 'not', part: this.#parseNot() };
    if (this.#peek().kind !== '(') return this.#parseTerm();
    const opened = this.#take('(').offset;
    const inner = this.#parseAny();
    if (this.#peek().kind !== ')')
      throw new ExpressionError(common.filterErrorUnclosedParen, opened);
    this.#take(')');
    return inner;
  }

  #parseTerm(): Expression {
    const start = this.#peek();
    const summary = this.#parseSummary();
    const name = summary ? null : this.#takeText(common.filterErrorExpectedTerm);
    const field = (): Field =>
      summary ?? { key: getFieldKey(name?.text ?? ''), offset: start.offset };
    if (this.#peek().kind === 'operator') return this.#parseComparison(field());
    if (this.#takeWord('in')) return { kind: 'in', field: field(), values: this.#parseList() };
    if (this.#isWord('not') && this.#isWord('in', 1)) {
      this.#at += 2;
      return { kind: 'not', part: { kind: 'in', field: field(), values: this.#parseList() } };
    }
    if (!name)
      throw new ExpressionError(
        common.filterErrorExpectedComparison({ function: start.text }),
        start.offset,
      );
    return { kind: 'word', text: name.text.toLowerCase() };
  }

  /** Parse `last("val/acc")`; return null if the next term is something else. */
  #parseSummary(): Field | null {
    const { text, kind, offset } = this.#peek();
    const summary = text.toLowerCase();
    if (kind !== 'word' || !AGGREGATES.includes(summary) || this.#peek(1).kind !== '(') return null;
    this.#at += 2;
    const tag = this.#takeText(common.filterErrorExpectedMetric);
    if (this.#peek().kind !== ')')
      throw this.#makeError(
        common.filterErrorExpectedCloseAfter({ function: summary, tag: tag.text }),
      );
    this.#take(')');
    return { key: `${summary}:${tag.text}`, offset };
  }

  #parseComparison(field: Field): Expression {
    const sign = this.#take('operator').text;
    const operator = (sign === '==' ? '=' : sign) as Operator;
    const value = this.#takeText(common.filterErrorExpectedValueAfter({ operator: sign }));
    if (operator === '~') checkPattern(value);
    return { kind: 'compare', field, operator, value };
  }

  #parseList(): Literal[] {
    if (this.#peek().kind !== '(') throw this.#makeError(common.filterErrorExpectedList);
    const opened = this.#take('(').offset;
    const values: Literal[] = [];
    while (this.#peek().kind !== ')') {
      if (this.#peek().kind === 'end')
        throw new ExpressionError(common.filterErrorUnclosedList, opened);
      values.push(this.#takeText(common.filterErrorExpectedValue));
      if (this.#peek().kind === ',') this.#at++;
    }
    this.#take(')');
    return values;
  }

  #peek(ahead = 0): Token {
    return this.#tokens[this.#at + ahead] ?? (this.#tokens.at(-1) as Token);
  }

  #take(kind: TokenKind): Token {
    const token = this.#peek();
    if (token.kind !== kind)
      throw this.#makeError(common.filterErrorExpectedToken({ token: kind }));
    this.#at++;
    return token;
  }

  #takeText(errorMessage: string): Literal {
    const { kind, text, offset } = this.#peek();
    if (kind !== 'word' && kind !== 'string') throw this.#makeError(errorMessage);
    this.#at++;
    return { text, offset };
  }

  #isWord(word: string, ahead = 0): boolean {
    const { kind, text } = this.#peek(ahead);
    return kind === 'word' && text.toLowerCase() === word;
  }

  #takeWord(word: string): boolean {
    if (!this.#isWord(word)) return false;
    this.#at++;
    return true;
  }

  #startsTerm(): boolean {
    const { kind } = this.#peek();
    return (kind === 'word' && !this.#isWord('or')) || kind === 'string' || kind === '(';
  }

  #makeError(message: string): ExpressionError {
    return new ExpressionError(message, this.#peek().offset);
  }
}

function joinParts(kind: 'all' | 'any', parts: readonly Expression[]): Expression {
  const [only] = parts;
  return parts.length === 1 && only ? only : { kind, parts };
}

function checkPattern({ text, offset }: Literal): void {
  try {
    new RegExp(text, 'i');
  } catch (error) {
    throw new ExpressionError(common.invalidRegex({ reason: getRegexError(error) }), offset);
  }
}

export type FieldValue = number | string | boolean | null | readonly string[];

/** A run, as seen by an expression. */
export interface FilterSubject {
  /** The name in lowercase. */
  readonly searchText: string;
  getValue(key: string): FieldValue;
}

type Predicate = (subject: FilterSubject) => boolean;
type ScalarValue = number | string | boolean;

export interface CompiledExpression {
  readonly matches: Predicate;
  /** The fields of the expression, in order. */
  readonly fields: readonly Field[];
}

export interface ExpressionSyntaxError {
  readonly message: string;
}

export function compileExpression(text: string): CompiledExpression | ExpressionSyntaxError {
  try {
    const expression = parseExpression(text);
    return { matches: compile(expression), fields: listFields(expression) };
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    return { message: withLocation(error.message, error.offset, text) };
  }
}

/** Append the position, counted from one, to an error message. */
export function withLocation(message: string, offset: number, text: string): string {
  return offset >= text.trimEnd().length
    ? common.filterErrorAtEnd({ message })
    : common.filterErrorAtPosition({ message, position: offset + 1 });
}

function compile(expression: Expression): Predicate {
  switch (expression.kind) {
    case 'all': {
      const tests = expression.parts.map(compile);
      return (subject) => tests.every((test) => test(subject));
    }
    case 'any': {
      const tests = expression.parts.map(compile);
      return (subject) => tests.some((test) => test(subject));
    }
    case 'not': {
      const test = compile(expression.part);
      return (subject) => !test(subject);
    }
    case 'word':
      return (subject) => subject.searchText.includes(expression.text);
    case 'in': {
      const tests = expression.values.map((value) => makeComparison('=', value));
      return makeFieldTest(expression.field, (value) => tests.some((test) => test(value)));
    }
    case 'compare':
      return compileComparison(expression.field, expression.operator, expression.value);
  }
}

function compileComparison(field: Field, operator: Operator, literal: Literal): Predicate {
  // A missing value is unequal to every value, and neither smaller nor larger.
  if (operator !== '!=') return makeFieldTest(field, makeComparison(operator, literal));
  const equal = makeFieldTest(field, makeComparison('=', literal));
  return (subject) => !equal(subject);
}

/** A list matches if one of its values does. */
function makeFieldTest({ key }: Field, test: (value: ScalarValue) => boolean): Predicate {
  return (subject) => {
    const value = subject.getValue(key);
    if (value === null) return false;
    return isList(value) ? value.some(test) : test(value);
  };
}

function isList(value: FieldValue): value is readonly string[] {
  return Array.isArray(value);
}

function makeComparison(operator: Operator, literal: Literal): (value: ScalarValue) => boolean {
  const wanted = literal.text.toLowerCase();
  const number = parseQuantity(literal.text);
  switch (operator) {
    case '~': {
      const pattern = new RegExp(literal.text, 'i');
      return (value) => pattern.test(String(value));
    }
    case ':':
      return (value) => String(value).toLowerCase().includes(wanted);
    case '=':
    case '!=':
      return (value) =>
        (number !== null && value === number) || String(value).toLowerCase() === wanted;
    default:
      return (value) =>
        compareOrdered(operator, value, typeof value === 'number' ? number : wanted);
  }
}

function compareOrdered(
  operator: '<' | '<=' | '>' | '>=',
  value: ScalarValue,
  limit: ScalarValue | null,
): boolean {
  if (limit === null) return false;
  switch (operator) {
    case '<':
      return value < limit;
    case '<=':
      return value <= limit;
    case '>':
      return value > limit;
    case '>=':
      return value >= limit;
  }
}

const UNITS_S: Readonly<Record<string, number>> = { s: 1, m: 60, min: 60, h: 3600, d: 86_400 };
const DURATION = /^([0-9.]+)(s|m|min|h|d)$/i;
const DATE = /^\d{4}-\d{2}(-\d{2})?(T.*)?$/;

/**
 * Parse a number, a duration such as 90m (in seconds), or a date such as 2026-05-01 (seconds since
 * 1970).
 */
function parseQuantity(text: string): number | null {
  const lasting = DURATION.exec(text);
  if (lasting) return Number(lasting[1]) * (UNITS_S[lasting[2]?.toLowerCase() ?? ''] ?? NaN);
  const value = DATE.test(text) ? Date.parse(text) / 1000 : Number(text);
  return Number.isNaN(value) ? null : value;
}
