/** An ask in a query; what is not given is left out. */
export function queryOf(fields: Readonly<Record<string, string | number | null>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== null) query.set(name, String(value));
  }
  return query.toString();
}
