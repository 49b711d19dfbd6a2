/** Where answers come from when there is no server: a copy of a board carries them along. */
export interface Transport {
  /** When the copy was made, in seconds since 1970. */
  readonly createdAt: number;
  request(path: string, init: RequestInit): Promise<unknown>;
}

let staticTransport: Transport | null = null;

/** From now on everything is asked of the copy. */
export function setTransport(opened: Transport): void {
  staticTransport = opened;
}

/** Null where there is a server. */
export function findStaticTransport(): Transport | null {
  return staticTransport;
}
