"""Serving a log from a program: beside what it does, or as a part of its own web application.

board = tracklight.serve("logs")             # goes on at once; board.url is where it is
app.mount("/board", tracklight.asgi("logs"))  # Starlette, FastAPI and other ASGI applications
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

from tracklight.log.opening import create_catalog
from tracklight.logdir.roots import Spec
from tracklight.server.board import Board
from tracklight.server.door import Door
from tracklight.server.mounted import MountedBoard
from tracklight.server.settings import Settings

__all__ = ["Board", "MountedBoard", "asgi", "serve"]


def serve(
    logdir: Spec,
    port: int | None = 0,
    *,
    block: bool = False,
    host: str = "localhost",
    path_prefix: str = "",
    trusted_hosts: Iterable[str] = (),
    window_title: str = "",
    read_only: bool = False,
    include: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
    cache: bool | str | os.PathLike[str] = True,
    memory: str | int = "2GB",
) -> Board:
    """Serve a log from a thread of this program; ``board.url`` tells where.

    Port 0 takes any that is free, None takes 6006 or the next after it. The board ends with
    ``board.close()``, with the ``with`` block that it stands in, or with the program; ``block``
    waits until Ctrl-C. What is read is said as for `tracklight.open`.
    """
    settings = Settings(
        host=host,
        port=port,
        path_prefix=path_prefix,
        trusted_hosts=tuple(trusted_hosts),
        door=Door(read_only=read_only),
        window_title=window_title,
    )
    board = Board(create_catalog(logdir, include, exclude, cache, memory), settings)
    if block:
        with board, contextlib.suppress(KeyboardInterrupt):
            print(f"tracklight at {board.url} (Ctrl-C to quit)", flush=True)
            board.wait()
    return board


def asgi(
    logdir: Spec,
    *,
    trusted_hosts: Iterable[str] = (),
    window_title: str = "",
    read_only: bool = False,
    include: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
    cache: bool | str | os.PathLike[str] = True,
    memory: str | int = "2GB",
) -> MountedBoard:
    """A board as an ASGI application, to be mounted below a path of another one.

    Who gets in is for the other application to say. By which names it is reached is not: requests
    for other names than localhost, addresses and ``trusted_hosts`` are turned away, as a page
    that some other site rebinds to this server would make them.
    """
    settings = Settings(
        trusted_hosts=tuple(trusted_hosts),
        door=Door(read_only=read_only),
        window_title=window_title,
    )
    return MountedBoard(create_catalog(logdir, include, exclude, cache, memory), settings)
