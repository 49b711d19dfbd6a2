"""Checks of a whole page: missing translations, cut labels and overlapping controls.

All checks have a tolerance, because fonts differ between machines.
"""

from __future__ import annotations

import re

from playwright.sync_api import Page

#: Names that are the same in every language: products, formats, units, key names and languages.
UNTRANSLATED = re.compile(
    r"tracklight|TensorBoard|Graphviz|ONNX|Python|Parquet|LaTeX|Markdown|WebGL|Chrome|webhook|English"
    r"|TensorFlow( Lite)?|Keras|PyTorch|JAX|safetensors|StableHLO|Tensor Core|NVIDIA|xprof"
    r"|XPlane|UTC|GiB|kHz"
    r"|\b(CSV|JSON|SVG|PNG|TSV|ZIP|OBJ|PLY|DOT|NaN|Inf|ROC|CPU|GPU|PCA|t-SNE|UMAP|HDBSCAN|k-means|TPU)\b"
    r"|\b(Shift|Ctrl|Alt|Enter|Esc|Tab|Home|End|Space|Delete|Backspace)\b"
    # Flags of the command, and functions that log data.
    r"|--[a-z][a-z-]+"
    r"|\bsummary\.\w+|config=\{…\}|run\(…"
    # Paths (the tests write their logs to a directory of that name), file name extensions and
    # media types.
    r"|(/[\w.-]+){2,}|\blogs\b|\.[a-z]\w+\b|\b(audio|image|video)/\w+"
)
#: Difference of positions that is not visible.
TOLERANCE_PX = 2
#: More than the difference between the heights of two fonts, less than a line of text.
LINE_TOLERANCE_PX = 8

#: Texts of the page, visible or for screen readers. Code examples are not translated.
READ_TEXTS = """() => {
  const attributes =
    ['aria-label', 'aria-description', 'aria-valuetext', 'title', 'placeholder', 'alt'];
  const texts = [document.title];
  for (const element of document.body.querySelectorAll('*')) {
    if (element.closest('style, script, code, pre')) continue;
    for (const name of attributes)
      if (element.hasAttribute(name)) texts.push(element.getAttribute(name));
    for (const node of element.childNodes)
      if (node.nodeType === Node.TEXT_NODE) texts.push(node.data);
  }
  return texts;
}"""

FIND_CUT_LABELS = """({ tolerancePx, lineTolerancePx, ignored }) => {
  const columnHeaders = 'th:not([scope=row]), [role=columnheader]';
  const controls = `button, a, [role=tab], ${columnHeaders}`;
  const labels = `${controls}, label, legend, summary, dt, h1, h2, h3, h4, [role^=menuitem], `
    + '[role=button], [role=heading]';
  const hidden = '.visually-hidden, [aria-hidden=true]';
  // Names in the log may be truncated if a tooltip has the whole name.
  const hasTooltip = (node) => {
    const cells = ':is(td, th, [role=cell], [role=rowheader])';
    const names = `.name[title], ${cells} [title]`;
    // Bars of a flame graph show a tooltip of their own.
    const name = node.parentElement.closest(`${names}, button[data-name]`);
    return name !== null && (name.dataset.name ?? name.title).includes(node.data.trim());
  };
  const isHiding = ({ overflowX }) => overflowX === 'hidden' || overflowX === 'clip';
  const isScrolling = ({ overflowX, overflowY }) =>
    [overflowX, overflowY].some((value) => value === 'auto' || value === 'scroll');

  /** Return why a text is not completely visible, or null. */
  function findReason(node) {
    const range = document.createRange();
    range.selectNodeContents(node);
    const text = range.getBoundingClientRect();
    for (let box = node.parentElement; box && box !== document.body; box = box.parentElement) {
      const style = getComputedStyle(box);
      if (style.display === 'inline' || style.display === 'contents') continue;
      const { left, right, top, bottom, width } = box.getBoundingClientRect();
      // Visually hidden, or the rest can be scrolled into view.
      if (width <= 1 || style.clipPath !== 'none' || isScrolling(style)) return null;
      const isControl = box.matches(controls);
      const isWider = text.left < left - tolerancePx || text.right > right + tolerancePx;
      const isHigher = text.top < top - lineTolerancePx || text.bottom > bottom + lineTolerancePx;
      if (isWider && (isControl || isHiding(style))) return 'too wide';
      if (isHigher && isControl) return 'too high';
    }
    return null;
  }

  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const label = node.parentElement.closest(labels);
    if (!label || !node.data.trim() || node.parentElement.closest(hidden)) continue;
    if (hasTooltip(node) || (ignored && label.closest(ignored))) continue;
    if (!node.parentElement.checkVisibility({ visibilityProperty: true })) continue;
    const clipped = label.closest('[role=row], thead, [role=rowgroup]');
    if (clipped && getComputedStyle(clipped).clipPath !== 'none') continue;
    const reason = findReason(node);
    if (reason) found.push(`"${node.data.trim()}" is ${reason}: ${label.outerHTML.slice(0, 200)}`);
  }
  return found;
}"""

FIND_OVERLAPS = """(tolerancePx) => {
  const controls =
    'button, a, input, select, textarea, label, h1, h2, [role=slider], [role=status]';
  const isScrolling = ({ overflowX, overflowY }) =>
    [overflowX, overflowY].some((value) => value !== 'visible');

  /** Return the part of an element that is not clipped by the boxes around it. */
  function getVisibleBox(element) {
    let { left, right, top, bottom } = element.getBoundingClientRect();
    for (let box = element.parentElement; box; box = box.parentElement) {
      if (!isScrolling(getComputedStyle(box))) continue;
      const rect = box.getBoundingClientRect();
      [left, right] = [Math.max(left, rect.left), Math.min(right, rect.right)];
      [top, bottom] = [Math.max(top, rect.top), Math.min(bottom, rect.bottom)];
    }
    return { element, left, right, top, bottom };
  }

  const contains = (a, b) =>
    a.left <= b.left && a.right >= b.right && a.top <= b.top && a.bottom >= b.bottom;
  const describe = ({ element }) =>
    element.ariaLabel || element.textContent.trim().slice(0, 60) || element.outerHTML.slice(0, 120);
  const boxes = [...document.querySelectorAll(controls)]
    .filter((element) => !element.closest('[aria-hidden=true], .visually-hidden'))
    .filter((element) => element.checkVisibility(
      { visibilityProperty: true, opacityProperty: true }))
    .map(getVisibleBox)
    .filter(({ left, right, top, bottom }) => right - left > 1 && bottom - top > 1);
  const found = [];
  for (const [index, a] of boxes.entries())
    for (const b of boxes.slice(index + 1)) {
      if (a.element.contains(b.element) || b.element.contains(a.element)) continue;
      // A panel that covers part of the cards.
      if (a.element.closest('.overlay') !== b.element.closest('.overlay')) continue;
      // Such as the button inside of a text field.
      if (contains(a, b) || contains(b, a)) continue;
      const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (width > tolerancePx && height > tolerancePx)
        found.push(`${describe(a)} overlaps ${describe(b)}`);
    }
  return found;
}"""


def list_english(page: Page, names: str = "(?!)") -> list[str]:
    """Return the texts of the page with English words.

    Args:
        page: The page.
        names: Names that are not translated, as a regular expression.
    """
    known = re.compile(f"{UNTRANSLATED.pattern}|{names}")
    texts: list[str] = page.evaluate(READ_TEXTS)
    return sorted({text for text in texts if re.search(r"[A-Za-z]{3}", known.sub("", text))})


def list_cut_labels(page: Page, ignored: str = "") -> list[str]:
    """Return the labels of controls and the headers that are not completely visible.

    Args:
        page: The page.
        ignored: CSS selector of elements whose labels may be cut.
    """
    options = {
        "tolerancePx": TOLERANCE_PX,
        "lineTolerancePx": LINE_TOLERANCE_PX,
        "ignored": ignored,
    }
    found: list[str] = page.evaluate(FIND_CUT_LABELS, options)
    return found


def list_overlaps(page: Page) -> list[str]:
    """Return the controls and labels that cover each other in part."""
    found: list[str] = page.evaluate(FIND_OVERLAPS, TOLERANCE_PX)
    return found


def has_chinese_font(page: Page) -> bool:
    """Return whether Chinese glyphs are drawn. Boxes of missing ones have another width."""
    return bool(
        page.evaluate(
            """() => {
              const context = document.createElement('canvas').getContext('2d');
              context.font = '20px sans-serif';
              return Math.abs(context.measureText('标量').width - 40) < 1;
            }"""
        )
    )
