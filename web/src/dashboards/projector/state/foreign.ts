import type { Orbit } from '../../../charts/space/orbit';
import type { ForeignBookmark, ForeignCamera } from '../data/answers';
import { METHODS, NO_AXES, type Params } from './params';

/** From so far away TensorBoard shows its cube of points as a whole. */
const WHOLE = Math.hypot(0.45, 0.9, 1.6);

/** How a view of TensorBoard is laid out, coloured and looked at, as far as there is that here. */
export function adoptSettings(bookmark: ForeignBookmark, params: Params): void {
  const method = METHODS.find((name) => name === bookmark.selectedProjection);
  if (method) params.method.set(method);
  params.dimensions.set(dimensionsIn(bookmark));
  params.components.set(bookmark.pcaComponentDimensions.map(String));
  const { tSNEPerplexity, umapNeighbors, umapMinDist, cameraDef } = bookmark;
  if (tSNEPerplexity !== null) params.perplexity.set(tSNEPerplexity);
  if (umapNeighbors !== null) params.neighbours.set(umapNeighbors);
  if (umapMinDist !== null) params.minDist.set(umapMinDist);
  if (method === 'custom') adoptAxes(bookmark, params);
  params.off.set([]);
  params.colour.set(bookmark.selectedColorOptionName);
  params.scale.set(bookmark.forceCategoricalColoring ? 'categories' : 'auto');
  if (bookmark.selectedLabelOption !== null) params.label.set(bookmark.selectedLabelOption);
  params.orbit.set(cameraDef && orbitOf(cameraDef));
}

function dimensionsIn(bookmark: ForeignBookmark): 'auto' | '2' | '3' {
  const { selectedProjection, tSNEis3d, umapIs3d, pcaComponentDimensions } = bookmark;
  const isDeep = {
    ...{ tsne: tSNEis3d, umap: umapIs3d, custom: false },
    pca: pcaComponentDimensions.length > 0 ? pcaComponentDimensions.length > 2 : null,
  }[selectedProjection];
  if (isDeep === null || isDeep === undefined) return 'auto';
  return isDeep ? '3' : '2';
}

function adoptAxes(bookmark: ForeignBookmark, params: Params): void {
  const { customXLeftText, customXRightText, customYDownText, customYUpText } = bookmark;
  params.axes.set([
    { from: customXLeftText ?? '', to: customXRightText ?? '' },
    { from: customYDownText ?? '', to: customYUpText ?? '' },
    ...NO_AXES.slice(2),
  ]);
  params.axesRegex.set(bookmark.customXLeftRegex ?? false);
  params.axesColumn.set(bookmark.customSelectedSearchByMetadataOption);
}

/** The same direction, and as much of all points in sight. */
export function orbitOf({ orthographic, position, target, zoom }: ForeignCamera): Orbit {
  const [x, y, z] = [0, 1, 2].map((axis) => (position[axis] ?? 0) - (target[axis] ?? 0)) as [
    number,
    number,
    number,
  ];
  const distance = Math.hypot(x, y, z) || WHOLE;
  return {
    yaw: Math.atan2(x, z),
    pitch: Math.asin(Math.max(-1, Math.min(1, y / distance))),
    zoom: zoom * (orthographic ? 1 : WHOLE / distance),
    target,
  };
}
