import { getContext, setContext } from 'svelte';

import type { MenuItem } from '../components/menu';

/** A board that shows cards of several dashboards, such as a workspace. */
export interface CardHost {
  /** Replaces the items that put a card on a board. */
  readonly menu: readonly (readonly MenuItem[])[];
  /** Given, the header of the card can be dragged. */
  readonly ondragheader: ((event: DragEvent) => void) | undefined;
}

const HOST_KEY = 'card-host';

/** Return the board that the card of this component is on; a dashboard is none. */
export const findCardHost = (): CardHost | undefined => getContext(HOST_KEY);

export const setCardHost = (host: CardHost): CardHost => setContext(HOST_KEY, host);
