/** A regular expression of a layout, which Python would match at the beginning of a tag. */
export interface Pattern {
  readonly matches: (tag: string) => boolean;
  /** Why it matches nothing, in a sentence. */
  readonly error: string | null;
}

/** What Python writes in another way than JavaScript. */
const TRANSLATIONS: readonly (readonly [RegExp, string])[] = [
  [/\(\?P</g, '(?<'],
  [/\(\?P=(\w+)\)/g, '\\k<$1>'],
  [/\\A/g, '^'],
  [/\\Z/g, '$'],
];
const FLAGS = /^\(\?([aimsux]+)\)/;
/** Something repeated that is itself repeated: such an expression may not come to an end. */
const ENDLESS = /\((?:[^()\\]|\\.)*[+*](?:[^()\\]|\\.)*\)(?:[+*]|\{\d+,\})/;
const MOST_LETTERS = 1000;

export function compilePattern(text: string): Pattern {
  if (text.length > MOST_LETTERS) return wrong(text, 'It is too long.');
  if (ENDLESS.test(text)) return wrong(text, 'It could take forever: it repeats a repetition.');
  const flags = FLAGS.exec(text)?.[1] ?? '';
  const plain = TRANSLATIONS.reduce(
    (translated, [from, to]) => translated.replace(from, to),
    text.replace(FLAGS, ''),
  );
  try {
    const expression = new RegExp(`^(?:${plain})`, flags.replace(/[^ims]/g, ''));
    return { matches: (tag) => expression.test(tag), error: null };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return wrong(text, `${reason.replace(/^.*\/[a-z]*: /s, '')}.`);
  }
}

function wrong(text: string, reason: string): Pattern {
  const shown = text.length > 60 ? `${text.slice(0, 60)} …` : text;
  return { matches: () => false, error: `“${shown}” is no expression for tags. ${reason}` };
}

/** The expression for one tag and no other. */
export function exactly(tag: string): string {
  return `${tag.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`;
}
