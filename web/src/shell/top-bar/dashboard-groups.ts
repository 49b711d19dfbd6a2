import * as m from '../../catalog/shell';
import type { DashboardGroup } from '../../plugin/registry';

export const GROUP_LABELS: Readonly<Record<DashboardGroup, string>> = {
  metrics: m.groupMetrics,
  media: m.groupMedia,
  model: m.groupModel,
  performance: m.groupPerformance,
  evaluation: m.groupEvaluation,
  plugins: m.groupPlugins,
};
