/*
 * Shows a board in a notebook. Where a browser reaches the server depends on where the notebook is:
 * some services tell it, jupyter-server-proxy is asked for it, and else it is a port of the same host.
 */
async (board) => {
  const query = board.token ? `?token=${encodeURIComponent(board.token)}` : '';

  const colab = globalThis.google?.colab?.kernel;

  const findColab = async () =>
    colab?.proxyPort && new URL(await colab.proxyPort(board.port, { cache: true })).origin;

  const findBase = () => {
    const config = document.getElementById('jupyter-config-data')?.textContent;
    return (
      (config && JSON.parse(config).baseUrl) || document.body.dataset.baseUrl || board.base || null
    );
  };

  const answers = async (address) => {
    try {
      const answer = await fetch(`${address}api/v1/health${query}`);
      return answer.ok && 'version' in (await answer.json());
    } catch {
      return false;
    }
  };

  /** Through jupyter-server-proxy, where it is installed: that always leads to the kernel's host. */
  const findProxied = async () => {
    const base = location.protocol.startsWith('http') && findBase();
    if (!base) return null;
    const address = new URL(`${base}proxy/${board.port}${board.path}`, location.origin).href;
    return (await answers(address)) ? address : null;
  };

  /** A page that came from no server is VS Code's on somebody's desk, which forwards ports. */
  const findDirect = () => {
    const isServed = location.protocol.startsWith('http');
    if (isServed && board.shown) return board.shown + board.path;
    const host = isServed ? location.hostname : 'localhost';
    return `${board.scheme}://${host || 'localhost'}:${board.port}${board.path}`;
  };

  const findAddress = async () => {
    if (board.proxy) return new URL(board.proxy, location.href).href;
    const origin = await findColab();
    return origin ? `${origin}${board.path}` : ((await findProxied()) ?? findDirect());
  };

  /** An output may be put into the page after its scripts have run. */
  const findPlace = async () => {
    for (let tries = 0; tries < 600; tries += 1) {
      const place = document.getElementById(board.id);
      if (place) return place;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return null;
  };

  // Who reads a notebook of somebody else's has no kernel there to ask.
  if (colab?.accessAllowed === false) return;
  const address = await findAddress();
  const place = await findPlace();
  if (!place) return;
  const frame = document.createElement('iframe');
  frame.src = address + query;
  frame.title = 'tracklight';
  frame.allow = 'clipboard-write; fullscreen';
  frame.style.cssText = `display: block; width: 100%; height: ${board.height}px; border: 0`;
  const link = document.createElement('a');
  link.href = address + query;
  link.target = '_blank';
  link.rel = 'noopener';
  link.textContent = 'Open in a tab of its own';
  if (location.protocol === 'https:' && address.startsWith('http:')) {
    place.textContent =
      'A page that came by https may not show one by http, so the board cannot be shown here. ' +
      'Install jupyter-server-proxy beside the notebook server, or set TRACKLIGHT_PROXY_URL. ';
    place.append(link);
  } else {
    place.replaceChildren(frame, link);
  }
}
