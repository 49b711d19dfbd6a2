"""What a model computes: graphs of every framework in one form."""
