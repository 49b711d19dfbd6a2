/** What TensorFlow puts before every op of a compiled function, which tells nobody anything. */
const WRAPPERS = /^(StatefulPartitionedCall\/)+/;

/** The name of an op as it is shown where there is little room. */
export function shortOp(name: string): string {
  return name.replace(WRAPPERS, '') || name;
}
