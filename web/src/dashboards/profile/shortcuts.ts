import type { Shortcut } from '../../plugin/context';
import type { Profile } from './profile.svelte';

/** The keys of the dashboard; returns how to take them back. */
export function registerKeys(profile: Profile): () => void {
  const { opening, captures } = profile;
  const step = (by: number): void => {
    const { offered, tool } = opening;
    const at = offered.findIndex(({ name }) => name === tool?.name);
    const next = offered[(at + by + offered.length) % offered.length];
    if (next) profile.go(next.name);
  };
  const keys: Omit<Shortcut, 'group'>[] = [
    { keys: 'v', label: 'Next tool', run: () => step(1) },
    { keys: 'Shift+V', label: 'Tool before', run: () => step(-1) },
    { keys: 'x', label: 'Let the two captures change places', run: () => captures.swap() },
  ];
  const stops = keys.map((key) => profile.context.keys.register({ ...key, group: 'Profile' }));
  return () => stops.forEach((stop) => stop());
}
