/** Where answers come from when there is no server: a copy of a board carries them along. */
export interface Door {
  /** When the copy was made, in seconds since 1970. */
  readonly made: number;
  answer(path: string, init: RequestInit): Promise<unknown>;
}

let door: Door | null = null;

/** From now on everything is asked of the copy. */
export function openDoor(opened: Door): void {
  door = opened;
}

/** Null where there is a server. */
export function findDoor(): Door | null {
  return door;
}
