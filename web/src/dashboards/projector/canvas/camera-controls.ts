import type { Point } from '../../../charts/renderer/renderer';
import { zoomAt } from '../../../charts/points/point-gestures';
import { handleOrbitKey } from '../../../charts/webgl/orbit-camera';
import type { ProjectorCamera } from '../projector-camera.svelte';

const WHEEL_SPEED = 0.0016;

/** Zoom with the wheel. It needs no modifier key, as nothing here scrolls. */
export function attachWheel(surface: HTMLElement, camera: ProjectorCamera): () => void {
  function handleWheel(event: WheelEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const box = surface.getBoundingClientRect();
    const at: Point = { x: event.clientX - box.left, y: event.clientY - box.top };
    camera.setOrbit(zoomAt(camera, at, Math.exp(-event.deltaY * WHEEL_SPEED)));
  }
  surface.addEventListener('wheel', handleWheel, { passive: false });
  return () => surface.removeEventListener('wheel', handleWheel);
}

/** Move the camera with the keyboard. */
export function handleCameraKey(event: KeyboardEvent, camera: ProjectorCamera): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { orbit, projection, height, isFlat } = camera;
  const controls = {
    ...{ orbit, projection, height, up: 'y' as const },
    setOrbit: (next: typeof camera.orbit) => camera.setOrbit(next),
    reset: () => camera.fit(),
  };
  // In 2D the arrow keys pan, as with Shift in 3D.
  const key = { key: event.key, shiftKey: event.shiftKey || isFlat } as KeyboardEvent;
  if (!handleOrbitKey(key, controls)) return;
  event.preventDefault();
  event.stopPropagation();
}
