/** More than these are drawn in an order in which any first part is a fair sample. */
const FEW = 40_000;

/** The places from `first` on, shuffled if they are many; the same each time. */
export function drawingOrder(first: number, count: number): Uint32Array {
  const order = new Uint32Array(count);
  for (let at = 0; at < count; at++) order[at] = first + at;
  if (count > FEW) shuffle(order);
  return order;
}

function shuffle(order: Uint32Array): void {
  let seed = 0x2545f491;
  for (let at = order.length - 1; at > 0; at--) {
    // xorshift
    seed ^= seed << 13;
    seed ^= seed >>> 17;
    seed ^= seed << 5;
    const other = (seed >>> 0) % (at + 1);
    const kept = order[at] ?? 0;
    order[at] = order[other] ?? 0;
    order[other] = kept;
  }
}
