"""Models behind one interface: columns in; scores, attributions and other columns out.

`base` defines `Predictor` and `Predictions`, checks what models return, and reads predictions that
are part of the data. `python_models` adapts objects of a program (callables, scikit-learn, XGBoost,
PyTorch, Keras, ONNX), `server_models` calls servers, and `model_files` runs models from files in a
separate process with limits.

Frameworks are imported when a model of theirs is used. May import `tracklight.analysis.tables` and
nothing else of `tracklight.analysis`. Start reading at `base.py`.
"""
