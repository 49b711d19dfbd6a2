/** Lays out graphs in a worker, so that the page stays responsive. */
import type { Direction, NestedGraph, NestedLayout } from './layout-types';
import { layoutNestedGraph } from './nested-layout';

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
  const layout = layoutNestedGraph(data.root, data.direction);
  postMessage({ requestId: data.requestId, layout } satisfies LayoutWorkerResponse);
});
