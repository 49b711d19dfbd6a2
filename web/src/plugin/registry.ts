import type { Module } from './context';

/** A dashboard that comes with the page. Its code is loaded when it is opened. */
export interface BuiltIn {
  readonly name: string;
  readonly title: string;
  /** Whose server half it asks; its own unless it says otherwise. */
  readonly server?: string;
  /** True for one that has something to show whatever is in the log. */
  readonly always?: boolean;
  /** True for one in which something can be made, so that it is of use without data of its own. */
  readonly makes?: boolean;
  /** Three lines of code that give it something to show, told while there is nothing. */
  readonly example?: string;
  /** The first thing that it asks its server half, where the page's query tells. */
  ahead?(query: string): string | null;
  load(): Promise<Module>;
}

/** Anybody else's dashboard: a module that the server hands out. */
export async function loadModule(url: string): Promise<Module> {
  const module: unknown = await import(/* @vite-ignore */ new URL(url, document.baseURI).href);
  if (!isModule(module)) throw new TypeError(`${url} has no function "mount"`);
  return module;
}

function isModule(module: unknown): module is Module {
  return (
    typeof module === 'object' &&
    module !== null &&
    'mount' in module &&
    typeof module.mount === 'function'
  );
}
