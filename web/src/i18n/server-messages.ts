/** Translate sentences of the server, which carry a message code and arguments. */
import { findServerMessage } from './messages';

/** A sentence of the server: English text, and what to translate it by. */
export interface ServerMessage {
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
