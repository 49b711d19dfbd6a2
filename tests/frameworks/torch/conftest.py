from __future__ import annotations

import sys
import types

# TensorBoard, which torch.utils.tensorboard imports, uses its own replacement for TensorFlow's file
# functions if this module exists, and imports TensorFlow otherwise.
sys.modules["tensorboard.compat.notf"] = types.ModuleType("tensorboard.compat.notf")
