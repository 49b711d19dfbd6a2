from __future__ import annotations

import sys
import types

# TensorBoard, which torch.utils.tensorboard imports, takes its own replacement for TensorFlow's
# file functions when it can import this module, and TensorFlow otherwise.
sys.modules["tensorboard.compat.notf"] = types.ModuleType("tensorboard.compat.notf")
