import { type Codec, list } from '../base/codec';

/** What each of some cards has; cards that have nothing are left out. */
export type ByCard<Value> = ReadonlyMap<string, Value>;

export const FOR_NONE: ByCard<never> = new Map<string, never>();

export function withCard<Value>(
  map: ByCard<Value>,
  id: string,
  value: Value | null,
): ByCard<Value> {
  const changed = new Map(map);
  changed.delete(id);
  if (value !== null) changed.set(id, value);
  return changed;
}

/** Written flat, a few fields a card: `loss,0,100,,2`. */
export function byCard<Value>(
  fields: number,
  read: (texts: readonly string[]) => Value | null,
  write: (value: Value) => readonly string[],
): Codec<ByCard<Value>> {
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
