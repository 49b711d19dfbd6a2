import type { Runs } from '../plugin/context';

/** The names of the runs that are shown, as the server is asked for them; null stands for all. */
export function askedRuns({ shown, all }: Runs): readonly string[] | null {
  return shown.length === all.length ? null : shown.map(({ name }) => name);
}
