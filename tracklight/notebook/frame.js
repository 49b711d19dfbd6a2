/*
 * Show a tracklight server in an iframe below a notebook cell. The URL of the server depends on where
 * the notebook runs: hosted services provide it, jupyter-server-proxy is tried next, and otherwise the
 * server is on a port of the same host.
 */
async (options) => {
  const query = options.token ? `?token=${encodeURIComponent(options.token)}` : '';

  const colab = globalThis.google?.colab?.kernel;

  const findColabOrigin = async () =>
    colab?.proxyPort && new URL(await colab.proxyPort(options.port, { cache: true })).origin;

  const findBaseUrl = () => {
    const config = document.getElementById('jupyter-config-data')?.textContent;
    return (
      (config && JSON.parse(config).baseUrl) ||
      document.body.dataset.baseUrl ||
      options.baseUrl ||
      null
    );
  };

  const isReachable = async (url) => {
    try {
      const response = await fetch(`${url}api/v1/health${query}`);
      return response.ok && 'version' in (await response.json());
    } catch {
      return false;
    }
  };

  /** The URL through jupyter-server-proxy, which always leads to the kernel's machine. */
  const findProxiedUrl = async () => {
    const baseUrl = location.protocol.startsWith('http') && findBaseUrl();
    if (!baseUrl) return null;
    const url = new URL(`${baseUrl}proxy/${options.port}${options.path}`, location.origin).href;
    return (await isReachable(url)) ? url : null;
  };

  /** Pages without a server are those of VS Code on the desktop, which forwards ports to localhost. */
  const getDirectUrl = () => {
    const isServed = location.protocol.startsWith('http');
    if (isServed && options.publicUrl) return options.publicUrl + options.path;
    const host = isServed ? location.hostname : 'localhost';
    return `${options.scheme}://${host || 'localhost'}:${options.port}${options.path}`;
  };

  const findUrl = async () => {
    if (options.proxyUrl) return new URL(options.proxyUrl, location.href).href;
    const origin = await findColabOrigin();
    return origin ? `${origin}${options.path}` : ((await findProxiedUrl()) ?? getDirectUrl());
  };

  /** Notebooks may insert the output into the page after its scripts have run. */
  const waitForContainer = async () => {
    for (let tries = 0; tries < 600; tries += 1) {
      const container = document.getElementById(options.id);
      if (container) return container;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return null;
  };

  // In a shared Colab notebook, readers have no access to the kernel.
  if (colab?.accessAllowed === false) return;
  const url = await findUrl();
  const container = await waitForContainer();
  if (!container) return;
  const frame = document.createElement('iframe');
  frame.src = url + query;
  frame.title = 'tracklight';
  frame.allow = 'clipboard-write; fullscreen';
  frame.style.cssText = `display: block; width: 100%; height: ${options.height}px; border: 0`;
  const link = document.createElement('a');
  link.href = url + query;
  link.target = '_blank';
  link.rel = 'noopener';
  link.textContent = 'Open in a new tab';
  if (location.protocol === 'https:' && url.startsWith('http:')) {
    container.textContent =
      'This notebook uses HTTPS, and browsers do not embed HTTP pages in it. ' +
      'Install jupyter-server-proxy on the notebook server, or set TRACKLIGHT_PROXY_URL. ';
    container.append(link);
  } else {
    container.replaceChildren(frame, link);
  }
}
