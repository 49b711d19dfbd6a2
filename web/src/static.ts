// First: the modules after it read the transport and the URL when they are loaded.
import './static-setup';

import { mount } from 'svelte';

import { BUILT_IN } from './dashboards';
import App from './shell/App.svelte';

mount(App, { target: document.body, props: { builtIn: BUILT_IN } });
