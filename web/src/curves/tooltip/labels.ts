/** Names without the folders that all of them begin with: a tooltip has no room to say it again. */
export function shortLabels(labels: readonly string[]): ReadonlyMap<string, string> {
  const shared = sharedFolder(labels);
  return new Map(labels.map((label) => [label, label.slice(shared)]));
}

function sharedFolder(labels: readonly string[]): number {
  const [first = '', ...others] = labels;
  if (others.length === 0) return 0;
  let end = first.lastIndexOf('/') + 1;
  for (const label of others) {
    while (end > 0 && !label.startsWith(first.slice(0, end))) {
      end = first.lastIndexOf('/', end - 2) + 1;
    }
  }
  return end;
}
