/** What is a matter of taste is remembered in the browser; a frame without storage forgets it. */

export function recall(key: string): string | null {
  try {
    return localStorage.getItem(`tracklight.${key}`);
  } catch {
    return null;
  }
}

export function remember(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`tracklight.${key}`);
    else localStorage.setItem(`tracklight.${key}`, value);
  } catch {
    // Then it holds until the page is closed.
  }
}
