import { parseExpression } from './parse';
import { type Expression, type Field, fieldsOf, type Literal, type Operator } from './syntax';
import { ExpressionError } from './tokens';

export type Value = number | string | boolean | null | readonly string[];

/** What an expression asks about. */
export interface Subject {
  /** The name in lower case. */
  readonly lower: string;
  valueOf(key: string): Value;
}

type Test = (subject: Subject) => boolean;
type Single = number | string | boolean;

export interface Compiled {
  readonly matches: Test;
  /** Each field that is looked at, in order. */
  readonly fields: readonly Field[];
}

export interface Mistake {
  /** A sentence that says what is wrong and where. */
  readonly sentence: string;
}

export function compileExpression(text: string): Compiled | Mistake {
  try {
    const expression = parseExpression(text);
    return { matches: compile(expression), fields: fieldsOf(expression) };
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    return { sentence: sayWhere(error.what, error.at, text) };
  }
}

/** People count from one, and what is missing is missing at the end. */
export function sayWhere(what: string, at: number, text: string): string {
  return `${what}, at ${at >= text.trimEnd().length ? 'the end' : `character ${at + 1}`}.`;
}

function compile(expression: Expression): Test {
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
      return (subject) => subject.lower.includes(expression.text);
    case 'in': {
      const tests = expression.values.map((value) => compare('=', value));
      return ask(expression.field, (value) => tests.some((test) => test(value)));
    }
    case 'compare':
      return compileComparison(expression.field, expression.operator, expression.value);
  }
}

function compileComparison(field: Field, operator: Operator, literal: Literal): Test {
  // A run that says nothing is different from every value, and on neither side of any.
  if (operator !== '!=') return ask(field, compare(operator, literal));
  const equal = ask(field, compare('=', literal));
  return (subject) => !equal(subject);
}

/** Of several values one has to pass. */
function ask({ key }: Field, test: (value: Single) => boolean): Test {
  return (subject) => {
    const value = subject.valueOf(key);
    if (value === null) return false;
    return isList(value) ? value.some(test) : test(value);
  };
}

function isList(value: Value): value is readonly string[] {
  return Array.isArray(value);
}

function compare(operator: Operator, literal: Literal): (value: Single) => boolean {
  const wanted = literal.text.toLowerCase();
  const number = readQuantity(literal.text);
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
      return (value) => isOrdered(operator, value, typeof value === 'number' ? number : wanted);
  }
}

function isOrdered(
  operator: '<' | '<=' | '>' | '>=',
  value: Single,
  limit: Single | null,
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
const LASTING = /^([0-9.]+)(s|m|min|h|d)$/i;
const DAY = /^\d{4}-\d{2}(-\d{2})?(T.*)?$/;

/** A number, a time such as 90m in seconds, or a day such as 2026-05-01 in seconds since 1970. */
function readQuantity(text: string): number | null {
  const lasting = LASTING.exec(text);
  if (lasting) return Number(lasting[1]) * (UNITS_S[lasting[2]?.toLowerCase() ?? ''] ?? NaN);
  const value = DAY.test(text) ? Date.parse(text) / 1000 : Number(text);
  return Number.isNaN(value) ? null : value;
}
