import { setTransport } from './api/client';
import { ExportContents, type ExportData } from './api/static/contents';
import { makeScalarHandlers } from './api/static/static-scalars';
import { stepsHandlers } from './api/static/static-steps';
import { StaticTransport } from './api/static/static-transport';
import { fairnessHandlers } from './dashboards/fairness/static-fairness';
import { histogramHandlers } from './dashboards/histograms/static-histograms';
import { prCurveHandlers } from './dashboards/pr_curves/static-pr-curves';

declare global {
  // The scripts of an export are not modules: they share their data through a global.
  var tracklight: ExportData;
}

const contents = new ExportContents(globalThis.tracklight);
setTransport(
  new StaticTransport(contents, {
    ...makeScalarHandlers(contents),
    ...stepsHandlers,
    ...fairnessHandlers,
    ...histogramHandlers,
    ...prCurveHandlers,
  }),
);
if (location.search === '' && contents.head.view !== '') restoreView(contents.head.view);

/** Put the exported view into the URL, which the state of the page is read from. */
function restoreView(view: string): void {
  try {
    history.replaceState(null, '', `${location.pathname}?${view}${location.hash}`);
  } catch {
    // A frame without a URL of its own shows the default view.
  }
}
