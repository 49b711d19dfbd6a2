import type { Plugin } from 'vite';

export const BASE_LOCALE: string;
export const START: string[];
export function readMessages(): Record<string, Record<string, Record<string, string>>>;
export function messages(): Plugin;
