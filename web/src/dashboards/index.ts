import type { Module } from '../plugin/context';
import type { BuiltIn } from '../plugin/registry';

const [loadScalars] = Object.values(import.meta.glob<Module>('./scalars/index.ts'));

/** The dashboards that come with the page, in the order of their tabs. */
export const BUILT_IN: readonly BuiltIn[] = [
  ...(loadScalars ? [{ name: 'scalars', title: 'Scalars', load: loadScalars }] : []),
  {
    name: 'overview',
    title: 'Overview',
    server: 'scalars',
    always: true,
    load: () => import('./overview'),
  },
];
