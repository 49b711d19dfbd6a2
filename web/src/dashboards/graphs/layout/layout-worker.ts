import { layoutNestedGraph } from './nested-layout';
import type { Direction, NestedGraph, NestedLayout } from './layout-types';

/** Lays out beside the page, which goes on answering meanwhile. */
export interface LayoutWorkerRequest {
  readonly requestId: number;
  readonly root: NestedGraph;
  readonly direction: Direction;
}

export interface LayoutWorkerResponse {
  readonly requestId: number;
  readonly layout: NestedLayout;
}

addEventListener('message', ({ data }: MessageEvent<LayoutWorkerRequest>) => {
  const placed = layoutNestedGraph(data.root, data.direction);
  postMessage({ requestId: data.requestId, layout: placed } satisfies LayoutWorkerResponse);
});
