import { createContext } from 'svelte';

import type { PageState } from '../state/page-state.svelte';

/** The state of the page that a component belongs to. */
export const [getPage, setPage] = createContext<PageState>();
