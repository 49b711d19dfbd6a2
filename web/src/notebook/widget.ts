// First: modules that are imported later use messages in constants.
import '../catalog/start-locales';

import { mount, unmount } from 'svelte';

import NotebookChart, { ChartModel, type WidgetModel } from './NotebookChart.svelte';

/** Render a chart into a cell (anywidget protocol); return a function that removes it. */
function render({ model, el }: { model: WidgetModel; el: HTMLElement }): () => void {
  const disposal = new AbortController();
  void waitUntilConnected(el, disposal.signal).then(() => {
    if (!disposal.signal.aborted) mountChart(model, el, disposal.signal);
  });
  return () => disposal.abort();
}

/** Notebooks insert the cell later, and a chart reads its colors from the document. */
async function waitUntilConnected(el: HTMLElement, signal: AbortSignal): Promise<void> {
  while (!el.isConnected && !signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function mountChart(model: WidgetModel, el: HTMLElement, signal: AbortSignal): void {
  const chartModel = new ChartModel(model);
  const chart = mount(NotebookChart, {
    target: el,
    props: {
      model: chartModel,
      title: model.get('title'),
      axis: model.get('axis'),
      height: model.get('height'),
      isDark: isDark(),
    },
  });
  signal.addEventListener('abort', () => {
    chartModel.dispose();
    void unmount(chart);
  });
}

/** Detect the theme of JupyterLab, VS Code and Colab. */
function isDark(): boolean {
  const { jpThemeLight, vscodeThemeKind } = document.body.dataset;
  if (jpThemeLight !== undefined) return jpThemeLight === 'false';
  if (vscodeThemeKind !== undefined) return vscodeThemeKind.includes('dark');
  return document.documentElement.getAttribute('theme') === 'dark';
}

export default { render };
