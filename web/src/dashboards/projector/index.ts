import { moduleOf } from '../../plugin/mounting';
import View from './View.svelte';

export const { mount } = moduleOf(View);
