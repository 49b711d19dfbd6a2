import { openDoor } from '../door';
import { type Carried, Contents } from './contents';
import { makeDoor } from './door';

declare global {
  // The scripts of a copy are no modules: a global is the only place where they can meet.
  var tracklight: Carried;
}

const contents = new Contents(globalThis.tracklight);
openDoor(makeDoor(contents));
if (location.search === '' && contents.head.view !== '') show(contents.head.view);

function show(view: string): void {
  try {
    history.replaceState(null, '', `${location.pathname}?${view}${location.hash}`);
  } catch {
    // In a frame without an address of its own the copy opens with the plain view.
  }
}
