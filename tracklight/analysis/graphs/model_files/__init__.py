"""Parsers of model files: TensorFlow Lite, PyTorch, StableHLO and weights.

`graph_builder` is what they share. Each parser takes the bytes of a file, which are untrusted, and
returns a `tracklight.analysis.graphs.model.Graph`; nothing in a file is run or unpickled. The
formats of logged graphs (GraphDef, Keras JSON, ONNX) are in the package above;
`tracklight.analysis.graphs.parsers` chooses the parser. `torch_parameters` completes graphs that
PyTorch has logged.
"""
