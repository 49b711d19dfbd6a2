import { moduleOf } from '../../plugin/mounting';
import View from './HistogramsView.svelte';

export const { mount } = moduleOf(View);
