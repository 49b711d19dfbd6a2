import { mount } from 'svelte';

import '../shell/page.css';
import Gallery from './Gallery.svelte';

mount(Gallery, { target: document.body });
