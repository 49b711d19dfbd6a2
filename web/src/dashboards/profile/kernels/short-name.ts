/** What of a template says what it does, where its own name does not. */
const TELLING = /(\w+(?:Functor|_kernel_cuda|_kernel_impl|ReduceOp|Ops?))\b/;

/**
 * The name of a kernel as people know it: without what it returns, the namespaces it is in, its
 * types and what it is given. `vectorized_elementwise_kernel · bfloat16_copy_kernel_cuda`
 */
export function shortName(name: string): string {
  const bare = name.replace(/^void /, '').replaceAll('(anonymous namespace)::', '');
  const end = bare.search(/[<(]/);
  if (end < 0) return bare;
  const own = bare.slice(0, end).split('::').at(-1) ?? bare;
  if (bare[end] === '(') return own;
  const told = TELLING.exec(bare.slice(end))?.[1];
  return told && told !== own ? `${own} · ${told}` : own;
}
