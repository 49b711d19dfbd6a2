/** A chart that can be taken away as a picture. */
export interface Pictures {
  exportSvg(title: string): string;
  exportPng(title: string): Promise<Blob>;
}
