/** The value that would stand at `rank` if the values were sorted; their order is changed. */
export function select(values: Float64Array, rank: number): number {
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    const pivot = values[(low + high) >> 1] ?? NaN;
    let left = low;
    let right = high;
    while (left <= right) {
      while ((values[left] ?? NaN) < pivot) left++;
      while ((values[right] ?? NaN) > pivot) right--;
      if (left <= right) swap(values, left++, right--);
    }
    if (rank <= right) high = right;
    else if (rank >= left) low = left;
    else break;
  }
  return values[rank] ?? NaN;
}

function swap(values: Float64Array, one: number, other: number): void {
  const kept = values[one] ?? NaN;
  values[one] = values[other] ?? NaN;
  values[other] = kept;
}
