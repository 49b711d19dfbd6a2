import { setTransport } from '../transport';
import { type ExportData, ExportContents } from './contents';
import { createStaticTransport } from './static-transport';

declare global {
  // The scripts of a copy are no modules: a global is the only place where they can meet.
  var tracklight: ExportData;
}

const contents = new ExportContents(globalThis.tracklight);
setTransport(createStaticTransport(contents));
if (location.search === '' && contents.head.view !== '') restoreView(contents.head.view);

function restoreView(view: string): void {
  try {
    history.replaceState(null, '', `${location.pathname}?${view}${location.hash}`);
  } catch {
    // In a frame without an address of its own the copy opens with the plain view.
  }
}
