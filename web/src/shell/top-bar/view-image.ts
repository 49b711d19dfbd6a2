/** Draw what a part of the page shows into an image: charts, pictures, texts and boxes. */

/** Images have at least twice the resolution of the page. */
const MIN_SCALE = 2;

/** What style sheets of the page decide about SVG elements; a separate image does not have them. */
const SVG_PROPERTIES = [
  'color',
  'display',
  'dominant-baseline',
  'fill',
  'fill-opacity',
  'font-family',
  'font-size',
  'font-weight',
  'opacity',
  'paint-order',
  'stop-color',
  'stroke',
  'stroke-dasharray',
  'stroke-linecap',
  'stroke-linejoin',
  'stroke-opacity',
  'stroke-width',
  'text-anchor',
  'visibility',
];

type SvgImages = ReadonlyMap<Element, HTMLImageElement>;

/** Return the visible part of an element as a PNG. */
export async function renderViewImage(root: HTMLElement): Promise<Blob> {
  const box = root.getBoundingClientRect();
  const svgImages = await renderSvgImages(root, box);
  const scale = Math.max(MIN_SCALE, devicePixelRatio);
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(box.width * scale);
  canvas.height = Math.round(box.height * scale);
  const context = canvas.getContext('2d');
  if (!context) throw new Error('the browser has no 2D canvas');
  context.scale(scale, scale);
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, box.width, box.height);
  context.translate(-box.left, -box.top);
  drawElement(context, root, box, svgImages);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('empty image'))), 'image/png'),
  );
}

/** Return images of the visible SVG elements, for drawing them on a canvas. */
async function renderSvgImages(root: HTMLElement, view: DOMRect): Promise<SvgImages> {
  const images = new Map<Element, HTMLImageElement>();
  for (const svg of root.querySelectorAll<SVGSVGElement>('svg:not(svg svg, button svg)')) {
    const box = svg.getBoundingClientRect();
    if (box.width === 0 || !isShown(svg, getComputedStyle(svg), box, view)) continue;
    const image = new Image(box.width, box.height);
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(serializeSvg(svg, box))}`;
    images.set(svg, image);
  }
  await Promise.all([...images.values()].map((image) => image.decode()));
  return images;
}

function serializeSvg(svg: SVGSVGElement, { width, height }: DOMRect): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('width', String(width));
  copy.setAttribute('height', String(height));
  const copies = [copy, ...copy.querySelectorAll<SVGElement>('*')];
  for (const [index, element] of [svg, ...svg.querySelectorAll('*')].entries()) {
    const style = getComputedStyle(element);
    for (const name of SVG_PROPERTIES)
      copies[index]?.style.setProperty(name, style.getPropertyValue(name));
  }
  return new XMLSerializer().serializeToString(copy);
}

function drawElement(
  context: CanvasRenderingContext2D,
  element: Element,
  view: DOMRect,
  svgImages: SvgImages,
): void {
  const box = element.getBoundingClientRect();
  const style = getComputedStyle(element);
  if (!isShown(element, style, box, view)) return;
  drawBox(context, style, box);
  context.save();
  if (style.overflowX !== 'visible') {
    context.beginPath();
    context.rect(box.left, box.top, box.width, box.height);
    context.clip();
  }
  if (element instanceof HTMLCanvasElement || element instanceof HTMLImageElement) {
    if (element.width > 0) context.drawImage(element, box.left, box.top, box.width, box.height);
  } else if (element instanceof SVGElement) {
    const image = svgImages.get(element);
    if (image) context.drawImage(image, box.left, box.top, box.width, box.height);
  } else {
    for (const child of element.childNodes) {
      if (child instanceof Text) drawText(context, child, style);
      else if (child instanceof Element) drawElement(context, child, view, svgImages);
    }
  }
  context.restore();
}

/** Buttons and what appears only under the pointer are not part of the picture. */
function isShown(
  element: Element,
  style: CSSStyleDeclaration,
  box: DOMRect,
  view: DOMRect,
): boolean {
  if (style.visibility === 'hidden' || style.display === 'none' || Number(style.opacity) === 0)
    return false;
  if (element.matches('button:has(svg), [role=toolbar], .visually-hidden')) return false;
  if (style.display === 'contents') return true;
  return (
    box.bottom > view.top && box.top < view.bottom && box.right > view.left && box.left < view.right
  );
}

function drawBox(
  context: CanvasRenderingContext2D,
  style: CSSStyleDeclaration,
  box: DOMRect,
): void {
  const width = parseFloat(style.borderTopWidth);
  const radius = parseFloat(style.borderTopLeftRadius) || 0;
  context.beginPath();
  context.roundRect(box.left, box.top, box.width, box.height, radius);
  context.fillStyle = style.backgroundColor;
  context.fill();
  if (!(width > 0) || style.borderTopStyle === 'none') return;
  context.setLineDash(style.borderTopStyle === 'dashed' ? [4, 2] : []);
  context.lineWidth = width;
  context.strokeStyle = style.borderTopColor;
  const hasAllSides = parseFloat(style.borderLeftWidth) > 0;
  if (!hasAllSides) {
    context.beginPath();
    context.moveTo(box.left, box.top + width / 2);
    context.lineTo(box.right, box.top + width / 2);
  }
  context.stroke();
}

/** Draw a text, line by line as the browser has broken it. */
function drawText(context: CanvasRenderingContext2D, node: Text, style: CSSStyleDeclaration): void {
  if (node.data.trim() === '') return;
  context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  context.fillStyle = style.color;
  context.textBaseline = 'middle';
  for (const { text, box } of iterLines(node)) {
    context.fillText(text, box.left, box.top + box.height / 2);
  }
}

function* iterLines(node: Text): Generator<{ text: string; box: DOMRect }> {
  const range = document.createRange();
  let [text, box]: [string, DOMRect | null] = ['', null];
  for (const { 0: word, index } of node.data.matchAll(/\S+\s*/g)) {
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const wordBox = range.getClientRects()[0];
    if (!wordBox) continue;
    if (box && Math.abs(wordBox.top - box.top) > box.height / 2) {
      yield { text, box };
      [text, box] = ['', null];
    }
    box ??= wordBox;
    text += word.replace(/\s+/g, ' ');
  }
  if (box) yield { text, box };
}
