"""Files that hold tensors, each kind read without the framework that wrote it."""
