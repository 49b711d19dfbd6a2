import { type Codec, flag, list, number, optionalText, text } from '../lib/codecs';
import type { TextFilter } from '../lib/text-filter';
import type { Context, Param, UrlState } from '../plugin/context';

/** A value per card; cards without a value are left out. */
export type PerCard<Value> = ReadonlyMap<string, Value>;

export const EMPTY_PER_CARD: PerCard<never> = new Map<string, never>();

export function withCardValue<Value>(
  map: PerCard<Value>,
  id: string,
  value: Value | null,
): PerCard<Value> {
  const changed = new Map(map);
  changed.delete(id);
  if (value !== null) changed.set(id, value);
  return changed;
}

/** Encoded as a flat list with a fixed number of fields per card: `loss,0,100,,2`. */
export function perCardCodec<Value>(
  fields: number,
  read: (texts: readonly string[]) => Value | null,
  write: (value: Value) => readonly string[],
): Codec<PerCard<Value>> {
  return {
    parse(text) {
      const texts = list.parse(text);
      const map = new Map<string, Value>();
      for (let at = 0; at + fields < texts.length; at += fields + 1) {
        const value = read(texts.slice(at + 1, at + 1 + fields));
        if (value !== null) map.set(texts[at] ?? '', value);
      }
      return map;
    },
    format: (map) => list.format([...map].flatMap(([id, value]) => [id, ...write(value)])),
  };
}

/** A list of cards, or `*` for all cards followed by exceptions. */
export interface CardSet {
  readonly all: boolean;
  readonly named: readonly string[];
}

export const NO_CARDS: CardSet = { all: false, named: [] };

export const cardSetCodec: Codec<CardSet> = {
  parse(text) {
    const names = list.parse(text);
    return names[0] === '*' ? { all: true, named: names.slice(1) } : { all: false, named: names };
  },
  format: ({ all, named }) => list.format(all ? ['*', ...named] : named),
};

export function hasCard({ all, named }: CardSet, id: string): boolean {
  return all !== named.includes(id);
}

export function toggleCard({ all, named }: CardSet, id: string): CardSet {
  return { all, named: toggleItem(named, id) };
}

export function toggleItem(names: readonly string[], name: string): readonly string[] {
  return names.includes(name) ? names.filter((other) => other !== name) : [...names, name];
}

/**
 * The tag filter. The regex flag is a separate parameter, so that it can be set while the text is
 * empty.
 */
export class TagFilterParam {
  readonly #text: Param<string>;
  readonly #regex: Param<boolean>;

  constructor(address: UrlState) {
    this.#text = address.param('tags', text, '');
    this.#regex = address.param('tags-regex', flag, false);
  }

  get value(): TextFilter {
    return { text: this.#text.value, regex: this.#regex.value };
  }

  set(filter: TextFilter): void {
    this.#text.set(filter.text);
    this.#regex.set(filter.regex);
  }
}

/** Range of card widths. */
export const CARD_WIDTH_PX = { smallest: 240, largest: 900 };

export type CardGridSettings = ReturnType<typeof createCardGridSettings>;

/** Settings of a card grid: URL parameters and preferences. */
export function createCardGridSettings(
  { url, preferences }: Pick<Context, 'url' | 'preferences'>,
  name: string,
  usualWidth: number,
) {
  return {
    filter: new TagFilterParam(url),
    pinned: url.param('pinned', list, []),
    collapsed: url.param('collapsed', list, []),
    /** Full-width cards. */
    wide: url.param('wide', list, []),
    fullScreen: url.param('card', optionalText, null),
    panel: preferences.param(`${name}-panel`, flag, false),
    cardWidth: preferences.param(`${name}-card`, number(usualWidth), usualWidth),
  };
}
