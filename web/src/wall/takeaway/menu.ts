import type { MenuItem } from '../../widgets/menu';
import type { Pictures } from './pictures';
import { savePicture } from './save';

/** Items of a card's menu that save its chart as a picture. */
export function pictureItems(takePicture: () => Pictures | null, title: string): MenuItem[] {
  const disabled = takePicture() === null;
  return (['svg', 'png'] as const).map((format) => ({
    label: `Download ${format.toUpperCase()}`,
    disabled,
    run: () => void savePicture(takePicture(), format, title),
  }));
}
