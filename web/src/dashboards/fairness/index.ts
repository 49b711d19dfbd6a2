import { createDashboardModule } from '../../plugin/registry';
import View from './View.svelte';

export const { mount } = createDashboardModule(View);
