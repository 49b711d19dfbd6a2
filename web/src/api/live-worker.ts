/**
 * The shared worker that holds the event stream for all pages of one server in this browser. Its name
 * is the URL of the server, so that pages of different servers never share a worker.
 */
import { type HubMessage, LiveHub, type PageMessage } from './live-connection';

const hub = new LiveHub(self.name);

addEventListener('connect', (event) => {
  const [port] = (event as MessageEvent).ports;
  if (!port) return;
  const post = (message: HubMessage): void => port.postMessage(message);
  port.onmessage = ({ data }: MessageEvent<PageMessage>) => hub.receive(post, data);
});
