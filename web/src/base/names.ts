/**
 * Many names of runs in few characters, for an address: `conv/{lr1e-3,lr3e-4},vit`. What names share up
 * to a slash is written once. A backslash stands before signs that are part of a name, and `\e` is an
 * empty part; no semicolon is left without one, so that lists can be told apart by it.
 */
export function packNames(names: Iterable<string>): string {
  return packParts([...names].sort().map((name) => name.split('/')));
}

/** Reads what packNames writes, and makes something of whatever else it is given. */
export function unpackNames(text: string): string[] {
  return text === '' ? [] : new Unpacker(text).readList();
}

type Parts = readonly string[];

function packParts(names: readonly Parts[]): string {
  return splitByFirst(names).map(packSiblings).join(',');
}

function packSiblings(siblings: readonly Parts[]): string {
  const [first = []] = siblings;
  if (siblings.length === 1) return first.map(escape).join('/');
  return `${escape(first[0] ?? '')}/{${packParts(siblings.map((parts) => parts.slice(1)))}}`;
}

/** Names with the same folder; a name without a folder stays alone. */
function splitByFirst(names: readonly Parts[]): Parts[][] {
  const folders = new Map<string, Parts[]>();
  const alone: Parts[][] = [];
  for (const parts of names) {
    const siblings = folders.get(parts[0] ?? '');
    if (parts.length === 1) alone.push([parts]);
    else if (siblings) siblings.push(parts);
    else folders.set(parts[0] ?? '', [parts]);
  }
  return [...folders.values(), ...alone];
}

function escape(part: string): string {
  return part === '' ? '\\e' : part.replace(/[\\{},;]/g, '\\$&');
}

class Unpacker {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readList(): string[] {
    const names = this.#readEntry();
    while (this.#take(',')) names.push(...this.#readEntry());
    return names;
  }

  #readEntry(): string[] {
    const name = this.#readText();
    if (!this.#take('{')) return [name];
    const below = this.readList();
    this.#take('}');
    return below.map((rest) => name + rest);
  }

  #readText(): string {
    let text = '';
    while (this.#at < this.#text.length && !',{}'.includes(this.#text[this.#at] ?? '')) {
      const sign = this.#text[this.#at++] ?? '';
      text += sign === '\\' ? this.#readEscaped() : sign;
    }
    return text;
  }

  #readEscaped(): string {
    const sign = this.#text[this.#at++] ?? '';
    return sign === 'e' ? '' : sign;
  }

  #take(sign: string): boolean {
    if (this.#text[this.#at] !== sign) return false;
    this.#at++;
    return true;
  }
}
