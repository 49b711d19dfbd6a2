/**
 * Print the number of nodes and edges that Netron finds in model files, as JSON:
 * `node count.mjs NETRON FILE...`, where NETRON is a checkout of Netron.
 *
 * An edge is an input that is an output of another node of the same graph. Of functions, as in a
 * SavedModel, of the branches of an exported program or of ONNX, and of the models in a Keras model,
 * there is the number of their nodes, in total.
 */
import * as fs from 'node:fs/promises';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';

const [netron, ...files] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(path.resolve(netron, name)).href);
const [mock, node, view] = await Promise.all(
  ['test/mock.js', 'source/node.js', 'source/view.js'].map(load),
);

function count({ nodes }) {
  const outputs = new Set();
  const list = (values) =>
    (values ?? []).flatMap(({ value }) => value ?? []).filter((value) => value?.name);
  for (const { outputs: values } of nodes) for (const { name } of list(values)) outputs.add(name);
  const inputs = nodes.flatMap(({ inputs: values }) => list(values));
  const edges = inputs.filter(({ name, initializer }) => outputs.has(name) && !initializer);
  return { nodes: nodes.length, edges: edges.length };
}

/** Return the models that are nodes of a Keras model, at any depth, each once. */
function listNested({ nodes }) {
  const models = new Set();
  for (const { type } of nodes)
    // A layer that is called several times is a function of one node.
    if (type?.nodes && type.type !== 'function')
      for (const it of [type, ...listNested(type)]) models.add(it);
  return [...models];
}

/** Return the graphs that are arguments of nodes, such as branches, at any depth. */
function listBranches({ nodes }) {
  const values = nodes.flatMap(({ inputs, attributes }) => [
    ...(inputs ?? []),
    ...(attributes ?? []),
  ]);
  const graphs = values.map(({ value }) => value).filter((value) => value?.nodes);
  return graphs.flatMap((it) => [it, ...listBranches(it)]);
}

const host = new mock.Host({});
const counts = {};
for (const file of files) {
  const { size, mtimeMs } = await fs.stat(file);
  const stream = new node.FileStream(file, 0, size, mtimeMs);
  const [folder, name] = [path.dirname(file), path.basename(file)];
  const context = new mock.Context(host, folder, name, stream, new Map());
  const model = await new view.ModelFactoryService(host).open(context);
  const [first] = model.modules ?? model.graphs;
  const functions = first.functions ?? model.functions ?? [];
  // A module of StableHLO has nothing but functions.
  const graph = functions.find((it) => it.name.endsWith('@main')) ?? first;
  const isKeras = /\.(keras|h5)$/.test(name);
  const others = isKeras ? listNested(graph) : functions.filter((it) => it !== graph);
  if (/\.(pt2|onnx)$/.test(name)) others.push(...listBranches(graph));
  const functionNodes = others.reduce((sum, { nodes }) => sum + nodes.length, 0);
  counts[name] = { ...count(graph), functions: functionNodes };
}
console.log(JSON.stringify(counts));
