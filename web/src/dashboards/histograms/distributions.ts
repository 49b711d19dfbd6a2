import { moduleOf } from '../../plugin/mounting';
import View from './DistributionsView.svelte';

/** The tab that shows the same data as percentiles. */
export const { mount } = moduleOf(View);
