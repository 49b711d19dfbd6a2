export type PanelName = 'settings' | 'alerts';
export type WindowName = 'search' | 'keys';

/** What lies beside or above the dashboard because somebody asked for it. */
class Panel {
  /** At the right of the dashboard. */
  open = $state<PanelName | null>(null);
  /** In front of everything. */
  window = $state<WindowName | null>(null);

  toggle(name: PanelName): void {
    this.open = this.open === name ? null : name;
  }

  toggleWindow(name: WindowName): void {
    this.window = this.window === name ? null : name;
  }
}

export const panel = new Panel();
