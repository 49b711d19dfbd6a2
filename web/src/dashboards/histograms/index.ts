import { createDashboardModule } from '../../plugin/registry';
import View from './HistogramsView.svelte';

export const { mount } = createDashboardModule(View);
