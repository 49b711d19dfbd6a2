/** Student's t distribution, as on the server (`tracklight.analysis.evaluation.statistics`). */

const EPSILON = 3e-15;
const MAX_ITERATIONS = 500;
const BISECTIONS = 80;

/** Return the two-sided p-value of a t statistic; NaN stays NaN. */
export function getTwoSidedPValue(t: number, degrees: number): number {
  if (!Number.isFinite(t)) return Number.isNaN(t) ? NaN : 0;
  return incompleteBeta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

/** Return the half-width of a two-sided interval in standard errors. */
export function getHalfWidth(confidence: number, degrees: number): number {
  let [low, high] = [0, 1];
  while (getTwoSidedPValue(high, degrees) > 1 - confidence) high *= 2;
  for (let round = 0; round < BISECTIONS; round++) {
    const middle = (low + high) / 2;
    if (getTwoSidedPValue(middle, degrees) > 1 - confidence) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Return the regularized incomplete beta function I_x(a, b). */
function incompleteBeta(a: number, b: number, x: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(b, a, 1 - x);
  const logFront = logGamma(a + b) - logGamma(a) - logGamma(b);
  const front = Math.exp(logFront + a * Math.log(x) + b * Math.log1p(-x)) / a;
  return Math.min(1, Math.max(0, front * evaluateFraction(a, b, x)));
}

/** Evaluate the continued fraction of the incomplete beta function (Lentz's method). */
function evaluateFraction(a: number, b: number, x: number): number {
  let c = 1;
  let d = 1 / (1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m < MAX_ITERATIONS; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / (1 + even * d);
    c = 1 + even / c;
    result *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + odd * d);
    c = 1 + odd / c;
    result *= d * c;
    if (Math.abs(d * c - 1) < EPSILON) break;
  }
  return result;
}

/** Return the logarithm of the gamma function of a positive number (Stirling's series). */
function logGamma(x: number): number {
  // The series is accurate above 10; the recurrence gets there.
  let shift = 0;
  let z = x;
  for (; z < 10; z++) shift += Math.log(z);
  const inverse = 1 / (z * z);
  const series =
    1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse * (1 / 1680 - inverse / 1188)));
  return (z - 0.5) * Math.log(z) - z + Math.log(2 * Math.PI) / 2 + series / z - shift;
}
