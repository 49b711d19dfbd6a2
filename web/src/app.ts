/** The page. `main.ts` imports it after the texts of the page's language are loaded. */
import { mount } from 'svelte';

import { BUILT_IN } from './dashboards';
import App from './shell/App.svelte';

mount(App, { target: document.body, props: { builtIn: BUILT_IN } });
