/** Pixels of the page. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** How boxes of one size fill a place, row by row. */
export interface Arrangement extends Size {
  readonly columns: number;
  readonly rows: number;
}

export interface Spacing {
  readonly gap: number;
  /** Height of what stands above each box and belongs to it. */
  readonly caption: number;
  /** Boxes are never less wide than this; what does not fit is scrolled to. */
  readonly narrowest: number;
  /** Pictures are never less wide than this, either. */
  readonly smallest: number;
}

/** Trying more columns than anybody could tell apart would only take time. */
const MOST_COLUMNS = 64;

/**
 * The number of columns with which `count` pictures of one shape become largest. The size is that
 * of a box, its caption included.
 */
export function arrange(count: number, aspect: number, place: Size, spacing: Spacing): Arrangement {
  return arrangeBy(count, place, spacing, (box) => Math.min(box.width, box.height * aspect));
}

/** The same for boxes that each hold several pictures, which are arranged in turn. */
export function arrangeGroups(
  count: number,
  inside: { readonly count: number; readonly aspect: number; readonly gap: number },
  place: Size,
  spacing: Spacing,
): Arrangement {
  const within = { gap: inside.gap, caption: 0, narrowest: 1, smallest: 1 };
  return arrangeBy(count, place, spacing, (box) => {
    const { width, height } = arrange(inside.count, inside.aspect, box, within);
    return Math.min(width, height * inside.aspect);
  });
}

function arrangeBy(
  count: number,
  place: Size,
  spacing: Spacing,
  worth: (box: Size) => number,
): Arrangement {
  let best: Arrangement | null = null;
  let most = -Infinity;
  for (let columns = 1; columns <= Math.min(count, MOST_COLUMNS); columns++) {
    const found = divide(count, columns, place, spacing);
    if (columns > 1 && found.width < spacing.narrowest) break;
    const value = worth({ width: found.width, height: found.height - spacing.caption });
    if (value > most) [best, most] = [found, value];
  }
  return best && most >= spacing.smallest ? best : scrollable(count, place, spacing);
}

function divide(count: number, columns: number, place: Size, { gap }: Spacing): Arrangement {
  const rows = Math.ceil(count / columns);
  return {
    columns,
    rows,
    width: (place.width - gap * (columns - 1)) / columns,
    height: (place.height - gap * (rows - 1)) / rows,
  };
}

/** As many columns as are wide enough, with rows as high as the boxes are wide. */
function scrollable(count: number, place: Size, spacing: Spacing): Arrangement {
  const { gap, caption, narrowest } = spacing;
  const fitting = Math.floor((place.width + gap) / (narrowest + gap));
  const columns = Math.max(1, Math.min(count, fitting));
  const width = Math.max(1, (place.width - gap * (columns - 1)) / columns);
  const height = Math.min(width + caption, Math.max(place.height, narrowest));
  return { columns, rows: Math.ceil(count / columns), width, height };
}
