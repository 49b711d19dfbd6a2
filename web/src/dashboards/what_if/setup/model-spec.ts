/** The forms of the dialogs: a model with the request that it becomes, and names of classes. */
import type { AddModelRequest, Output, ServingMethod, Task } from '../../../api/schemas';

export const MODEL_KINDS = ['grpc', 'rest', 'kserve', 'json', 'file', 'columns'] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];

export interface ModelForm {
  kind: ModelKind;
  name: string;
  task: Task;
  address: string;
  model: string;
  version: string;
  signature: string;
  method: ServingMethod;
  input: string;
  output: string;
  template: string;
  scoresPath: string;
  path: string;
  fileOutput: Output;
  columns: string;
  timeoutS: number;
}

export const DEFAULT_TEMPLATE = '{"instances": "$rows"}';

export function makeModelForm(): ModelForm {
  return {
    kind: 'grpc',
    name: '',
    task: 'classification',
    address: '',
    model: '',
    version: '',
    signature: '',
    method: 'classify',
    input: '',
    output: '',
    template: DEFAULT_TEMPLATE,
    scoresPath: 'predictions',
    path: '',
    fileOutput: 'probabilities',
    columns: '',
    timeoutS: 30,
  };
}

/**
 * Return the model of a form; the name of the model is that of the server unless given. If a model
 * has that name, the version or a number is added.
 */
export function makeModelSpec(
  form: ModelForm,
  taken: readonly string[] = [],
): AddModelRequest['spec'] {
  const optional = (text: string): string | null => (text.trim() === '' ? null : text.trim());
  const served = form.model.trim();
  const ownName = served || form.path.trim().split('/').at(-1) || form.kind;
  const name = form.name.trim() || chooseFreeName(ownName, form.version.trim(), taken);
  const server = { name, address: form.address.trim(), model: served, timeout_s: form.timeoutS };
  const version = /^\d+$/.test(form.version.trim()) ? Number(form.version) : null;
  const signature = optional(form.signature);
  if (form.kind === 'grpc') {
    return {
      type: 'grpc',
      ...server,
      version,
      signature,
      method: form.method,
      input: optional(form.input),
      output: optional(form.output),
    };
  }
  if (form.kind === 'rest') {
    const { method } = form;
    return { type: 'rest', ...server, version, signature, method, output: optional(form.output) };
  }
  if (form.kind === 'kserve') {
    return {
      type: 'kserve',
      ...server,
      version: optional(form.version),
      input: optional(form.input),
      output: optional(form.output),
    };
  }
  if (form.kind === 'json') {
    return {
      type: 'json',
      name,
      url: form.address.trim(),
      template: form.template,
      scores_path: form.scoresPath,
      timeout_s: form.timeoutS,
    };
  }
  if (form.kind === 'file') {
    return { type: 'file', name, path: form.path.trim(), output: form.fileOutput };
  }
  const columns = form.columns
    .split(',')
    .map((one) => one.trim())
    .filter(Boolean);
  return { type: 'columns', name, columns };
}

function chooseFreeName(name: string, version: string, taken: readonly string[]): string {
  if (!taken.includes(name)) return name;
  const withVersion = `${name} v${version}`;
  if (version !== '' && !taken.includes(withVersion)) return withVersion;
  let number = 2;
  while (taken.includes(`${name} ${number}`)) number++;
  return `${name} ${number}`;
}

/** Return whether the required fields are filled. */
export function isComplete(form: ModelForm): boolean {
  if (form.kind === 'file') return form.path.trim() !== '';
  if (form.kind === 'columns') return form.columns.trim() !== '';
  if (form.address.trim() === '') return false;
  return form.kind === 'json' || form.model.trim() !== '';
}

// ---- names of classes

/** Return the lines of a text without empty lines at its end. */
export function splitLines(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  while (lines.at(-1) === '') lines.pop();
  return lines;
}

export function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name, at) => name === other[at]);
}
