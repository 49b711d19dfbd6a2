const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

/**
 * Whether pictures in space are drawn without a graphics card; null where the browser cannot draw
 * them at all. Asked of a context of its own, as smooth edges are chosen when one is made.
 */
export function findIsSoftware(): boolean | null {
  const context = document.createElement('canvas').getContext('webgl2');
  if (!context) return null;
  const about = context.getExtension('WEBGL_debug_renderer_info');
  const name = about ? String(context.getParameter(about.UNMASKED_RENDERER_WEBGL)) : '';
  context.getExtension('WEBGL_lose_context')?.loseContext();
  return SOFTWARE.test(name);
}
