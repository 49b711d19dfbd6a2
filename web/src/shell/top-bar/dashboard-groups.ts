import type { DashboardGroup } from '../../plugin/registry';

export const GROUP_LABELS: Readonly<Record<DashboardGroup, string>> = {
  metrics: 'Metrics',
  media: 'Media',
  model: 'Model',
  performance: 'Performance',
  evaluation: 'Evaluation',
  plugins: 'Plugins',
};
