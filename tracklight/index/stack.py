"""The rows of one session of a file: blocks in the order written, few of them at any time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic

from tracklight.formats.batch import Points, References
from tracklight.index.block import Block, RowsT, join_blocks, merge_points, merge_references

#: As long as there are no more blocks than this, looking into each costs less than joining them.
MANY_BLOCKS = 8


class Stack(Generic[RowsT]):
    """Blocks in the order written; the first ``stored`` of them stand in the cache."""

    __slots__ = ("_merge", "blocks", "stored")

    def __init__(self, merge: Callable[[Sequence[RowsT]], RowsT]) -> None:
        self._merge: Callable[[Sequence[RowsT]], RowsT] = merge
        self.blocks: list[Block[RowsT]] = []
        self.stored = 0

    def push(self, rows: RowsT) -> None:
        if len(rows.step):
            self.blocks.append(Block(rows))

    def compact(self) -> None:
        """Join the latest blocks in memory when there are many.

        A block is joined with those after it once they are half its size together, so that there
        are about log(rows) blocks and each row is moved about that often in all.
        """
        if len(self.blocks) - self.stored <= MANY_BLOCKS:
            return
        first = len(self.blocks) - 2
        rows = len(self.blocks[-1]) + len(self.blocks[-2])
        while first > self.stored and 2 * rows >= len(self.blocks[first - 1]):
            first -= 1
            rows += len(self.blocks[first])
        joined = Block(self._merge([block.rows for block in self.blocks[first:]]))
        self.blocks[first:] = [joined]

    def unstored(self) -> Block[RowsT] | None:
        """All rows that are not in the cache, as one block."""
        return join_blocks(self.blocks[self.stored :], self._merge)

    def store(self, block: Block[RowsT] | None) -> None:
        """Put a block that stands in the cache in the place of the rows in memory."""
        self.blocks[self.stored :] = [block] if block is not None else []
        self.stored = len(self.blocks)

    def unstored_rows(self) -> int:
        return sum(len(block) for block in self.blocks[self.stored :])


class Session:
    """What was written from one SessionLog.START, or the file's beginning, to the next."""

    __slots__ = ("points", "references", "start")

    def __init__(self, start: int | None = None) -> None:
        self.start = start
        self.points: Stack[Points] = Stack(merge_points)
        self.references: Stack[References] = Stack(merge_references)
