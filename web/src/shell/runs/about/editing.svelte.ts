/** What is being written about runs, one thing at a time. */
class Editing {
  /** The run whose name is being typed in its place. */
  renaming = $state.raw<string | null>(null);
  /** The runs of which note, labels and colour are looked at. */
  describing = $state.raw<readonly string[] | null>(null);
}

export const editing = new Editing();
