/** Tags that expressions contain without quotes, as in `analysis/derived_metrics/expression.py`. */
const PLAIN_TAG = /^[\p{L}_][\p{L}\p{N}_.]*(?:\/[\p{L}\p{N}_.]+)*$/u;

/** Return a tag as it is written in an expression. */
export function quoteTag(tag: string): string {
  return PLAIN_TAG.test(tag) ? tag : `"${tag.replace(/["\\]/g, String.raw`\$&`)}"`;
}
