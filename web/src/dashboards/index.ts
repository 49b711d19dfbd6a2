import type { BuiltIn } from '../plugin/registry';

/** The dashboards that come with the page, in the order of their tabs. */
export const BUILT_IN: readonly BuiltIn[] = [
  {
    name: 'scalars',
    title: 'Scalars',
    example: `with tracklight.run("logs/run-1") as run:
    for step in range(1000):
        run.log({"train/loss": 1 / (step + 1)}, step)`,
    load: () => import('./scalars'),
  },
  {
    name: 'overview',
    title: 'Overview',
    server: 'scalars',
    always: true,
    load: () => import('./overview'),
  },
];
