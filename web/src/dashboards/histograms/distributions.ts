import { createDashboardModule } from '../../plugin/registry';
import View from './DistributionsView.svelte';

/** The tab that shows the same data as percentiles. */
export const { mount } = createDashboardModule(View);
