/** Paths of icons on a field of 24 by 24, drawn with a stroke. */
export const ICONS = {
  pin: 'M9 4h6l-1 6 3 3H7l3-3zM12 13v7',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  expand: 'M9 4H4v5M15 4h5v5M9 20H4v-5M15 20h5v-5',
  shrink: 'M4 9h5V4M20 9h-5V4M4 15h5v5M20 15h-5v5',
  fit: 'M4 8V4h4M20 8V4h-4M4 16v4h4M20 16v4h-4M9 12h6',
  wide: 'M3 12h18M7 8l-4 4 4 4M17 8l4 4-4 4',
  close: 'M6 6l12 12M18 6L6 18',
  sliders: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 4.8v4.4M9 14.8v4.4',
  table: 'M4 5h16v14H4zM4 10h16M10 10v9',
  range: 'M7 5v14M17 5v14M10 12h4',
  plus: 'M12 5v14M5 12h14',
  lines: 'M4 17l5-6 4 3 7-8',
  bars: 'M4 6h12M4 12h16M4 18h7',
  info: 'M12 11v6M12 7.5h.01M12 3a9 9 0 100 18 9 9 0 000-18z',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  folded: 'M9 6l6 6-6 6',
  open: 'M6 9l6 6 6-6',
  search: 'M10.5 4a6.5 6.5 0 100 13 6.5 6.5 0 000-13zM15.5 15.5L20 20',
  bell: 'M6 16V11a6 6 0 0112 0v5l1.5 2h-15zM10 21h4',
  pause: 'M9 6v12M15 6v12',
  play: 'M8 5l11 7-11 7z',
  sun: 'M12 8a4 4 0 100 8 4 4 0 000-8zM12 2v2M12 20v2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M2 12h2M20 12h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z',
  panel: 'M4 5h16v14H4zM9.5 5v14',
} as const;

export type IconName = keyof typeof ICONS;
