import type { Module } from '../plugin/context';
import type { BuiltIn } from '../plugin/registry';

const [loadScalars] = Object.values(import.meta.glob<Module>('./scalars/index.ts'));

/** The dashboards that come with the page, in the order of their tabs. */
export const BUILT_IN: readonly BuiltIn[] = [
  ...(loadScalars
    ? [
        {
          name: 'scalars',
          title: 'Scalars',
          example: `with tracklight.run("logs/run-1") as run:
    for step in range(1000):
        run.log({"train/loss": 1 / (step + 1)}, step)`,
          load: loadScalars,
        },
      ]
    : []),
  {
    name: 'overview',
    title: 'Overview',
    server: 'scalars',
    always: true,
    load: () => import('./overview'),
  },
];
