/** The 97.5 % quantile of Student's t-distribution with 1, 2, … degrees of freedom. */
const FIRST = [
  12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157,
  2.228139, 2.200985, 2.178813, 2.160369, 2.144787, 2.13145, 2.119905, 2.109816, 2.100922, 2.093024,
  2.085963,
];

const NORMAL = 1.959963985;

/** How many standard errors a 95 % confidence interval reaches. */
export function quantile(freedom: number): number {
  return FIRST[freedom - 1] ?? expand(freedom);
}

/** Fisher's expansion around the normal distribution, which is near where freedom is large. */
function expand(freedom: number): number {
  const z = NORMAL;
  const first = (z ** 3 + z) / 4;
  const second = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96;
  const third = (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384;
  return z + first / freedom + second / freedom ** 2 + third / freedom ** 3;
}
