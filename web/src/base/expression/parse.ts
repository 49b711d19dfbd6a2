import { type Expression, type Field, keyOfField, type Literal, type Operator } from './syntax';
import { ExpressionError, readTokens, type Token, type TokenKind } from './tokens';

const SUMMARIES = ['last', 'min', 'max'];

/**
 * Reads `lr < 0.01 and tag:best`. Terms that only stand side by side must all hold; a word by itself has to
 * occur in the name. Throws an ExpressionError.
 */
export function parseExpression(text: string): Expression {
  return new Parser(readTokens(text)).parse();
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
    if (this.#peek().kind !== 'end') throw this.#surprise('This “)” closes nothing');
    return whole;
  }

  #parseAny(): Expression {
    const parts = [this.#parseAll()];
    while (this.#takeWord('or')) parts.push(this.#parseAll());
    return join('any', parts);
  }

  #parseAll(): Expression {
    const parts = [this.#parseNot()];
    while (this.#takeWord('and') || this.#startsTerm()) parts.push(this.#parseNot());
    return join('all', parts);
  }

  #parseNot(): Expression {
    if (this.#takeWord('not')) return { kind: 'not', part: this.#parseNot() };
    if (this.#peek().kind !== '(') return this.#parseTerm();
    const opened = this.#take('(').at;
    const inner = this.#parseAny();
    if (this.#peek().kind !== ')') throw new ExpressionError('This “(” is not closed', opened);
    this.#take(')');
    return inner;
  }

  #parseTerm(): Expression {
    const start = this.#peek();
    const summary = this.#parseSummary();
    const name = summary ? null : this.#takeText('a name or a value');
    const field = (): Field => summary ?? { key: keyOfField(name?.text ?? ''), at: start.at };
    if (this.#peek().kind === 'operator') return this.#parseComparison(field());
    if (this.#takeWord('in')) return { kind: 'in', field: field(), values: this.#parseList() };
    if (this.#isWord('not') && this.#isWord('in', 1)) {
      this.#at += 2;
      return { kind: 'not', part: { kind: 'in', field: field(), values: this.#parseList() } };
    }
    if (!name) throw new ExpressionError(`Say what ${start.text}(…) is compared with`, start.at);
    return { kind: 'word', text: name.text.toLowerCase() };
  }

  /** `last("val/acc")`, or null where something else stands. */
  #parseSummary(): Field | null {
    const { text, kind, at } = this.#peek();
    const summary = text.toLowerCase();
    if (kind !== 'word' || !SUMMARIES.includes(summary) || this.#peek(1).kind !== '(') return null;
    this.#at += 2;
    const tag = this.#takeText('the name of a metric');
    if (this.#peek().kind !== ')')
      throw this.#surprise(`“)” is missing after ${summary}("${tag.text}"`);
    this.#take(')');
    return { key: `${summary}:${tag.text}`, at };
  }

  #parseComparison(field: Field): Expression {
    const sign = this.#take('operator').text;
    const operator = (sign === '==' ? '=' : sign) as Operator;
    const value = this.#takeText(`a value after “${sign}”`);
    if (operator === '~') checkPattern(value);
    return { kind: 'compare', field, operator, value };
  }

  #parseList(): Literal[] {
    if (this.#peek().kind !== '(')
      throw this.#surprise('A list such as (adam, sgd) has to follow “in”');
    const opened = this.#take('(').at;
    const values: Literal[] = [];
    while (this.#peek().kind !== ')') {
      if (this.#peek().kind === 'end') throw new ExpressionError('This list is not closed', opened);
      values.push(this.#takeText('a value'));
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
    if (token.kind !== kind) throw this.#surprise(`“${kind}” is missing`);
    this.#at++;
    return token;
  }

  #takeText(wanted: string): Literal {
    const { kind, text, at } = this.#peek();
    if (kind !== 'word' && kind !== 'string') throw this.#surprise(`There has to be ${wanted}`);
    this.#at++;
    return { text, at };
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

  #surprise(what: string): ExpressionError {
    return new ExpressionError(what, this.#peek().at);
  }
}

function join(kind: 'all' | 'any', parts: readonly Expression[]): Expression {
  const [only] = parts;
  return parts.length === 1 && only ? only : { kind, parts };
}

function checkPattern({ text, at }: Literal): void {
  try {
    new RegExp(text, 'i');
  } catch (error) {
    const reason =
      error instanceof Error ? error.message.replace(/^.*\/[a-z]*: /s, '') : 'It is wrong';
    throw new ExpressionError(`Regular expression: ${reason.toLowerCase()}`, at);
  }
}
