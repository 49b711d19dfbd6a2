import { createDashboardModule } from '../../plugin/registry';
import View from './View.svelte';

/** Shows the same data as the Histograms dashboard, as percentiles. */
export const { mount } = createDashboardModule(View, { tab: 'distributions' });
