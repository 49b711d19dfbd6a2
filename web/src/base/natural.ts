/** Numbers inside names count as numbers: run 2 comes before run 10. */
const collator = new Intl.Collator('en', { numeric: true });

export const compareNatural: (a: string, b: string) => number = collator.compare;
