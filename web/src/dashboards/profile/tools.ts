import type { Component } from 'svelte';

/** One way to look at a capture. Its code is loaded when it is opened. */
export interface Tool {
  /** In the address, and what the server calls it. */
  readonly name: string;
  readonly title: string;
  /** What it answers, in one sentence. */
  readonly description: string;
  /** It shows two captures beside each other. */
  readonly needsBaseline?: boolean;
  load(): Promise<{ readonly default: Component }>;
}

/** In the order of their tabs; which of them a capture has something for, the server says. */
export const TOOLS: readonly Tool[] = [
  {
    name: 'overview',
    title: 'Overview',
    description: 'Where the time of a step goes, and what to change.',
    load: () => import('./overview/OverviewTool.svelte'),
  },
  {
    name: 'compare',
    title: 'Compare',
    description: 'What changed between two captures, op by op.',
    needsBaseline: true,
    load: () => import('./compare/CompareTool.svelte'),
  },
  {
    name: 'input',
    title: 'Input',
    description: 'What a step waits for, and which stage of the input pipeline is to blame.',
    load: () => import('./input/InputTool.svelte'),
  },
  {
    name: 'trace',
    title: 'Trace',
    description: 'Every event on an axis of time, by process and thread.',
    load: () => import('./trace/TraceTool.svelte'),
  },
  {
    name: 'ops',
    title: 'Ops',
    description: 'What took how long, on the host, on devices and in Python.',
    load: () => import('./ops/OpsTool.svelte'),
  },
  {
    name: 'kernels',
    title: 'Kernels',
    description:
      'How kernels were launched, how well they fit the device, and who uses tensor cores.',
    load: () => import('./kernels/KernelsTool.svelte'),
  },
  {
    name: 'memory',
    title: 'Memory',
    description: 'How much was in use over time, what of at the peak, and what never came back.',
    load: () => import('./memory/MemoryTool.svelte'),
  },
  {
    name: 'program',
    title: 'Program',
    description: 'What the compiler made of the model, and how long each instruction took.',
    load: () => import('./program/ProgramTool.svelte'),
  },
  {
    name: 'roofline',
    title: 'Roofline',
    description: 'How near ops come to what the device can do, and what holds them back.',
    load: () => import('./roofline/RooflineTool.svelte'),
  },
];
