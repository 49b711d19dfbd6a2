import type { Component } from 'svelte';

/** One way to look at a capture. Its code is loaded when it is opened. */
export interface Tool {
  /** In the address, and what the server calls it. */
  readonly name: string;
  readonly title: string;
  /** What it answers, in one sentence. */
  readonly about: string;
  /** It shows two captures beside each other. */
  readonly pair?: boolean;
  load(): Promise<{ readonly default: Component }>;
}

/** In the order of their tabs; which of them a capture has something for, the server says. */
export const TOOLS: readonly Tool[] = [
  {
    name: 'overview',
    title: 'Overview',
    about: 'Where the time of a step goes, and what to change.',
    load: () => import('./overview/Overview.svelte'),
  },
  {
    name: 'compare',
    title: 'Compare',
    about: 'What changed between two captures, op by op.',
    pair: true,
    load: () => import('./compare/Compare.svelte'),
  },
  {
    name: 'input',
    title: 'Input',
    about: 'What a step waits for, and which stage of the input pipeline is to blame.',
    load: () => import('./input/Input.svelte'),
  },
  {
    name: 'trace',
    title: 'Trace',
    about: 'Every event on an axis of time, by process and thread.',
    load: () => import('./trace/Trace.svelte'),
  },
  {
    name: 'ops',
    title: 'Ops',
    about: 'What took how long, on the host, on devices and in Python.',
    load: () => import('./ops/Ops.svelte'),
  },
  {
    name: 'kernels',
    title: 'Kernels',
    about: 'How kernels were launched, how well they fit the device, and who uses tensor cores.',
    load: () => import('./kernels/Kernels.svelte'),
  },
  {
    name: 'memory',
    title: 'Memory',
    about: 'How much was in use over time, what of at the peak, and what never came back.',
    load: () => import('./memory/Memory.svelte'),
  },
  {
    name: 'program',
    title: 'Program',
    about: 'What the compiler made of the model, and how long each instruction took.',
    load: () => import('./program/Program.svelte'),
  },
  {
    name: 'roofline',
    title: 'Roofline',
    about: 'How near ops come to what the device can do, and what holds them back.',
    load: () => import('./roofline/Roofline.svelte'),
  },
];
