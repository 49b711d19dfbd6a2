/** An expression is wrong; `at` is where, counted from 0. */
export class ExpressionError extends Error {
  constructor(
    readonly what: string,
    readonly at: number,
  ) {
    super(what);
  }
}

export type TokenKind = 'word' | 'string' | 'operator' | '(' | ')' | ',' | 'end';

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly at: number;
}

const SPACE = /\s*/y;
const OPERATOR = /<=|>=|!=|==|[<>=~:]/y;
const STRING = /"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'/y;
const WORD = /[^\s()[\],"'<>=!~:]+/y;
/** Lists may stand in either kind of bracket. */
const BRACKETS: Readonly<Record<string, TokenKind>> = {
  '(': '(',
  ')': ')',
  '[': '(',
  ']': ')',
  ',': ',',
};

export function readTokens(text: string): Token[] {
  const tokens: Token[] = [];
  let at = skip(text, 0);
  while (at < text.length) {
    const [token, end] = readToken(text, at);
    tokens.push(token);
    at = skip(text, end);
  }
  tokens.push({ kind: 'end', text: '', at: text.length });
  return tokens;
}

function readToken(text: string, at: number): [Token, number] {
  const sign = text[at] ?? '';
  const bracket = BRACKETS[sign];
  if (bracket) return [{ kind: bracket, text: sign, at }, at + 1];
  const operator = matchAt(OPERATOR, text, at);
  if (operator) return [{ kind: 'operator', text: operator[0], at }, OPERATOR.lastIndex];
  const string = matchAt(STRING, text, at);
  if (string) return [{ kind: 'string', text: unquote(string), at }, STRING.lastIndex];
  const word = matchAt(WORD, text, at);
  if (word) return [{ kind: 'word', text: word[0], at }, WORD.lastIndex];
  const isQuote = sign === '"' || sign === "'";
  throw new ExpressionError(
    isQuote ? `The quote ${sign} is not closed` : `“${sign}” means nothing here`,
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

/** Only quotes are freed of their backslash: in a regular expression the others have a meaning. */
function unquote(match: RegExpExecArray): string {
  return (match[1] ?? match[2] ?? '').replace(/\\(["'])/g, '$1');
}
