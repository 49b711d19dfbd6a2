import { mount, unmount } from 'svelte';

import Chart from './Chart.svelte';
import { type Model, Told } from './model.svelte';

/** Shows a chart in a cell, as notebooks call it; returns how to end that. */
function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const told = new Told(model);
  const chart = mount(Chart, {
    target: el,
    props: {
      told,
      title: model.get('title'),
      axis: model.get('axis'),
      height: model.get('height'),
      isDark: isDark(),
    },
  });
  return () => {
    told.letGo();
    void unmount(chart);
  };
}

/** What JupyterLab, VS Code and others say of the theme; else whether the page's paper is dark. */
function isDark(): boolean {
  const { jpThemeLight, vscodeThemeKind } = document.body.dataset;
  if (jpThemeLight !== undefined) return jpThemeLight === 'false';
  if (vscodeThemeKind !== undefined) return vscodeThemeKind.includes('dark');
  return document.documentElement.hasAttribute('theme')
    ? document.documentElement.getAttribute('theme') === 'dark'
    : false;
}

export default { render };
