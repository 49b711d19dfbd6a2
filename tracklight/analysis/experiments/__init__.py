"""Sessions: runs by what they were given and what came of it, out of records and files of settings.

What a program calls to log hyperparameters is `tracklight.hparams`; this is the side that reads.
"""
