"""Files that contain tensors: checkpoints, arrays and tables of vectors.

Every format is read without the framework that wrote it, and without running code from the file.
The readers implement the `tensor_file.TensorFile` protocol. Start with
`registry.open_tensor_file`, which chooses a reader by the name of the file; `tf_checkpoint` is
separate, because TensorFlow checkpoints consist of several files.

Used by `tracklight.analysis.embeddings`. May import what `tracklight.formats` may import.
"""
