/** Which events are looked for: by their names, and some by themselves. */
export interface Light {
  /** One for each name. */
  readonly names: Uint8Array;
  /** A bit for each event. */
  readonly events: Uint8Array;
}

export function lightUp(ids: Int32Array, events: Uint8Array): Light {
  const names = new Uint8Array(ids.reduce((most, id) => Math.max(most, id), 0) + 1);
  for (const id of ids) names[id] = 1;
  return { names, events };
}

export function isLit({ names, events }: Light, name: number, event: number): boolean {
  return names[name] === 1 || (((events[event >> 3] ?? 0) >> (event & 7)) & 1) === 1;
}
