import type { Component } from 'svelte';
import * as common from '../../catalog/common';
import * as m from '../../catalog/profile';

/** A tab of the dashboard. Its code is loaded when it is opened. */
export interface Tool {
  /** The name in the URL and on the server. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Available only while captures are compared. */
  readonly needsBaseline?: boolean;
  /** Not available in a static export. */
  readonly needsServer?: boolean;
  load(): Promise<{ readonly default: Component }>;
}

/** All tools in display order; the server says which of them have data. */
export const TOOLS: readonly Tool[] = [
  {
    name: 'overview',
    title: m.toolOverviewTitle,
    description: m.toolOverviewDescription,
    load: () => import('./overview/OverviewTool.svelte'),
  },
  {
    name: 'compare',
    title: m.toolCompareTitle,
    description: m.toolCompareDescription,
    needsBaseline: true,
    load: () => import('./compare/CompareTool.svelte'),
  },
  {
    name: 'input',
    title: m.toolInputTitle,
    description: m.toolInputDescription,
    load: () => import('./input/InputTool.svelte'),
  },
  {
    name: 'trace',
    title: common.trace,
    description: m.toolTraceDescription,
    load: () => import('./trace/TraceTool.svelte'),
  },
  {
    name: 'calls',
    title: m.toolCallsTitle,
    description: m.toolCallsDescription,
    load: () => import('./calls/CallsTool.svelte'),
  },
  {
    name: 'ops',
    title: m.toolOpsTitle,
    description: m.toolOpsDescription,
    load: () => import('./ops/OpsTool.svelte'),
  },
  {
    name: 'operators',
    title: m.toolOperatorsTitle,
    description: m.toolOperatorsDescription,
    load: () => import('./operators/OperatorsTool.svelte'),
  },
  {
    name: 'kernels',
    title: m.toolKernelsTitle,
    description: m.toolKernelsDescription,
    load: () => import('./kernels/KernelsTool.svelte'),
  },
  {
    name: 'communication',
    title: m.toolCommunicationTitle,
    description: m.toolCommunicationDescription,
    load: () => import('./communication/CommunicationTool.svelte'),
  },
  {
    name: 'memory',
    title: common.memory,
    description: m.toolMemoryDescription,
    load: () => import('./memory/MemoryTool.svelte'),
  },
  {
    name: 'program',
    title: m.toolProgramTitle,
    description: m.toolProgramDescription,
    load: () => import('./program/ProgramTool.svelte'),
  },
  {
    name: 'roofline',
    title: m.toolRooflineTitle,
    description: m.toolRooflineDescription,
    load: () => import('./roofline/RooflineTool.svelte'),
  },
  {
    name: 'query',
    title: m.toolQueryTitle,
    description: m.toolQueryDescription,
    needsServer: true,
    load: () => import('./sql/SqlTool.svelte'),
  },
];
