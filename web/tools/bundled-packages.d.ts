import type { Plugin } from 'vite';

export function bundledPackages(): Plugin;
export function findPackage(id: string): string | null;
