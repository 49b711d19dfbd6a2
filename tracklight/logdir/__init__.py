"""Find, read and watch the files of log directories, local and remote.

May import `tracklight.formats`, `tracklight.types`, `tracklight.errors` and `tracklight.util`. It
knows which files belong to a run but not what they contain; that is the job of `tracklight.index`.

Start reading at:

- `access`: parse the log directory argument (``logs``, ``name:path``, URLs), and open files below
  log directories only.
- `filesystem`: the interface to a file system and the local one; `http` and `remote` are others.
  `object_store` keeps the number of listing requests to object stores low.
- `discover`: find runs, event files and other files below a root.
- `tail`: read the new records of an event file, and tell growth from replacement.
- `watch`: wait until something below the roots may have changed.
"""
