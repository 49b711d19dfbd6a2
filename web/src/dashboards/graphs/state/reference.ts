/** Which graph is looked at, so that every ask names the same one. */
export interface GraphReference {
  readonly id: string;
  readonly index: number | null;
  readonly mark: number | null;
}

/** The name under which the server knows two graphs laid over each other. */
export function compareId(one: string, other: string): string {
  return `compare~${one}~${other}`;
}

/** A reference, and more, as the query of an address; always in the same order. */
export function queryOf(
  { id, index, mark }: GraphReference,
  more: Readonly<Record<string, string>> = {},
): string {
  const query = new URLSearchParams({ id });
  if (index !== null) query.set('index', String(index));
  if (mark !== null) query.set('mark', String(mark));
  for (const [name, value] of Object.entries(more)) query.set(name, value);
  return query.toString();
}
