import type { Vec3 } from '../../charts/webgl/orbit-camera';

/** What the server says of embeddings, field for field as in `tracklight/dashboards/projector`. */

export interface VersionRow {
  readonly index: number;
  readonly step: number | null;
  readonly mark: string;
  readonly rows: number;
  /** 0 where only opening it can tell. */
  readonly dimensions: number;
}

export interface EmbeddingRow {
  readonly id: string;
  readonly run: string;
  readonly name: string;
  readonly source: 'log' | 'upload';
  readonly file: string;
  readonly has_labels: boolean;
  readonly has_sprite: boolean;
  readonly has_bookmarks: boolean;
  /** A sentence; empty where all is well. */
  readonly problem: string;
  readonly versions: readonly VersionRow[];
}

export interface EmbeddingsResponse {
  readonly embeddings: readonly EmbeddingRow[];
  readonly devices: readonly string[];
}

export interface ColumnInfo {
  readonly name: string;
  readonly kind: 'text' | 'number';
  readonly distinct: number;
  readonly missing: number;
  readonly min: number | null;
  readonly max: number | null;
  /** The most frequent ones; none where every row differs. */
  readonly values: readonly { readonly text: string; readonly count: number }[];
}

export interface SpriteTiles {
  readonly cell_width: number;
  readonly cell_height: number;
  readonly tiles: number;
  readonly tile_columns: number;
  readonly tile_rows: number;
  readonly per_tile: number;
}

export interface EmbeddingInfo {
  readonly id: string;
  readonly index: number;
  readonly step: number | null;
  readonly mark: string;
  readonly rows: number;
  readonly dimensions: number;
  /** Grows when labels are edited. */
  readonly revision: number;
  readonly problems: readonly string[];
  readonly columns: readonly ColumnInfo[];
  readonly label: string | null;
  readonly colour: string | null;
  readonly sequence: string | null;
  readonly sprite: SpriteTiles | null;
  readonly spherize: boolean;
}

export interface ColumnResponse {
  readonly name: string;
  readonly kind: 'text' | 'number';
  readonly numbers: Float32Array | null;
  /** Which of the texts a row has; null: its own. */
  readonly codes: Int32Array | null;
  readonly text: Uint8Array;
  readonly ends: Int32Array;
}

export interface JobStatus {
  readonly job: string;
  readonly state: 'waiting' | 'running' | 'done' | 'failed' | 'cancelled';
  readonly doing: string;
  readonly done: number;
  readonly total: number;
  readonly problem: string;
  readonly frame: number;
  readonly device: string;
}

export interface LayoutResponse {
  readonly job: JobStatus;
  /** Null: all rows. */
  readonly rows: Int32Array | null;
  /** One column an axis; none where nothing is new. */
  readonly places: readonly Float32Array[];
  /** Of the variance, by component. */
  readonly explained: readonly number[];
  readonly exact: boolean;
  readonly notes: readonly string[];
}

export interface QualityResponse {
  readonly trust: number;
  readonly sample: number;
  readonly neighbours: number;
  readonly sentence: string;
}

export interface NeighborsResponse {
  readonly rows: Int32Array;
  readonly distances: Float32Array;
  readonly exact: boolean;
}

export interface SearchResponse {
  readonly count: number;
  readonly rows: Int32Array;
}

export interface MatchResponse {
  readonly rows: Int32Array;
  readonly matched: number;
}

export interface ClustersResponse {
  readonly job: JobStatus;
  /** By row; -1 for none. */
  readonly codes: Int32Array | null;
  readonly clusters: readonly {
    readonly name: string;
    readonly count: number;
    readonly words: readonly string[];
  }[];
}

export interface PointResponse {
  readonly row: number;
  readonly cells: readonly { readonly name: string; readonly text: string }[];
  readonly vector: Float32Array;
  readonly length: number;
}

export interface EditResponse {
  readonly revision: number;
  readonly changed: number;
}

/** A view as TensorBoard's projector saves it, as far as it is understood. */
export interface Bookmark {
  readonly label: string;
  readonly selectedProjection: string;
  readonly selectedPoints: readonly number[];
  readonly filteredPoints: readonly number[] | null;
  readonly selectedColorOptionName: string | null;
  readonly selectedLabelOption: string | null;
  readonly pcaComponentDimensions: readonly number[];
  readonly tSNEPerplexity: number | null;
  readonly tSNEis3d: boolean | null;
  readonly umapIs3d: boolean | null;
  readonly umapNeighbors: number | null;
  readonly umapMinDist: number | null;
  readonly customSelectedSearchByMetadataOption: string | null;
  readonly customXLeftText: string | null;
  readonly customXLeftRegex: boolean | null;
  readonly customXRightText: string | null;
  readonly customYDownText: string | null;
  readonly customYUpText: string | null;
  readonly forceCategoricalColoring: boolean | null;
  readonly cameraDef: CameraDef | null;
}

/** Points are in a cube from -1 to 1. */
export interface CameraDef {
  readonly orthographic: boolean;
  readonly position: Vec3;
  readonly target: Vec3;
  readonly zoom: number;
}

export interface BookmarksResponse {
  readonly bookmarks: readonly Bookmark[];
  readonly saved: readonly { readonly name: string; readonly state: string }[];
}
