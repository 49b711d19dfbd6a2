/** Where all pictures of a tag are to be had as one file; without runs, those of all. */
export function archivePath(tag: string, runs: readonly string[]): string {
  const query = [['tag', tag], ...runs.map((run) => ['run', run])];
  return `archive?${query.map(([key, value]) => `${key}=${encodeURIComponent(value ?? '')}`).join('&')}`;
}
