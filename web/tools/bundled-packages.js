import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The last package of a module's path, as packages may contain others. */
const PACKAGE = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//;

/**
 * List the npm packages whose code is in a build, in `.packages.json` next to it. The third-party
 * notices and the bill of materials are written from these lists (tools/third_party.py).
 *
 * @returns {import('vite').Plugin}
 */
export function bundledPackages() {
  return {
    name: 'bundled-packages',
    apply: 'build',
    generateBundle(_options, bundle) {
      const directories = new Set();
      for (const file of Object.values(bundle)) {
        if (file.type !== 'chunk') continue;
        for (const [id, module] of Object.entries(file.modules)) {
          const directory = module.renderedLength > 0 ? findPackage(id) : null;
          if (directory) directories.add(directory);
        }
      }
      const packages = [...directories].sort().map(readPackage);
      const source = JSON.stringify(packages, null, 1) + '\n';
      this.emitFile({ type: 'asset', fileName: '.packages.json', source });
    },
  };
}

/**
 * Return the directory of the npm package that a module belongs to, or null.
 *
 * @param {string} id
 */
export function findPackage(id) {
  // Virtual modules start with a NUL, and CommonJS proxies add a query.
  const found = PACKAGE.exec(id.replace(/^\0/, '').replaceAll('\\', '/'));
  return found ? found[0].slice(0, -1) : null;
}

/** @param {string} directory */
function readPackage(directory) {
  const { name, version, license } = JSON.parse(
    readFileSync(join(directory, 'package.json'), 'utf-8'),
  );
  return { name, version, license };
}
