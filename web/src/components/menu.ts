import type { IconName } from './icons';

export interface MenuItem {
  readonly label: string;
  readonly icon?: IconName;
  /** A keyboard shortcut or a short remark at the end of the row. */
  readonly hint?: string;
  /** Set for an item that toggles something. */
  readonly checked?: boolean;
  readonly disabled?: boolean;
  run(): void;
}
