"""An S3 server with any number of equal runs: ``python -m benchmarks.s3_server RUNS FILE``.

Every run has one event file with the content of FILE, so that a bucket of 100,000 runs needs no
disk. It answers what a reader asks for: listings of up to 1,000 keys per page, sizes and ranges.
``GET /requests`` returns the number of requests by kind since the last call. ``--delay`` delays
every response, as the network to a store does.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from benchmarks.make_logs import FILE_NAME

BUCKET = "bench"
FOLDER = "logs"
_MODIFIED = "2026-01-01T00:00:00.000Z"
_HTTP_MODIFIED = "Thu, 01 Jan 2026 00:00:00 GMT"
_ETAG = '"0123456789abcdef0123456789abcdef"'
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")


class Bucket:
    """The keys of a bucket, all with the same content."""

    def __init__(self, keys: Sequence[str], content: bytes) -> None:
        self.keys = sorted(keys)
        self.content = content
        self.requests: Counter[str] = Counter()

    def list(self, prefix: str, delimiter: str, after: str, count: int) -> tuple[list[str], bool]:
        """Return the next keys and folders (ending with the delimiter), and whether there are more.

        Args:
            prefix: What all keys begin with.
            delimiter: Ends the names of folders; empty to list all keys.
            after: The last key or folder of the page before.
            count: The most keys and folders to return.
        """
        found: list[str] = []
        at = bisect_left(self.keys, prefix) if not after else self._get_next(after)
        while at < len(self.keys) and self.keys[at].startswith(prefix):
            if len(found) == count:
                return found, True
            key = self.keys[at]
            end = key.find(delimiter, len(prefix)) if delimiter else -1
            found.append(key if end < 0 else key[: end + 1])
            at = self._get_next(found[-1])
        return found, False

    def _get_next(self, entry: str) -> int:
        """Return the index of the first key that is neither ``entry`` nor in this folder."""
        return bisect_right(self.keys, entry + "\U0010ffff" if entry.endswith("/") else entry)


def create_app(bucket: Bucket, delay_s: float) -> Starlette:
    async def list_keys(request: Request) -> Response:
        await asyncio.sleep(delay_s)
        bucket.requests["list"] += 1
        query = request.query_params
        delimiter, count = query.get("delimiter", ""), int(query.get("max-keys", 1000))
        found, has_more = bucket.list(
            query.get("prefix", ""), delimiter, query.get("continuation-token", ""), count
        )
        size = len(bucket.content)
        entries = "".join(
            f"<CommonPrefixes><Prefix>{entry}</Prefix></CommonPrefixes>"
            if delimiter and entry.endswith(delimiter)
            else f"<Contents><Key>{entry}</Key><LastModified>{_MODIFIED}</LastModified>"
            f"<ETag>{_ETAG}</ETag><Size>{size}</Size><StorageClass>STANDARD</StorageClass>"
            "</Contents>"
            for entry in found
        )
        more = f"<NextContinuationToken>{found[-1]}</NextContinuationToken>" if has_more else ""
        body = (
            '<?xml version="1.0" encoding="UTF-8"?>'
            '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>{BUCKET}</Name><KeyCount>{len(found)}</KeyCount><MaxKeys>{count}</MaxKeys>"
            f"<IsTruncated>{str(has_more).lower()}</IsTruncated>{more}{entries}</ListBucketResult>"
        )
        return Response(body, media_type="application/xml")

    async def read_key(request: Request) -> Response:
        await asyncio.sleep(delay_s)
        key = request.path_params["key"]
        bucket.requests["stat" if request.method == "HEAD" else "read"] += 1
        index = bisect_left(bucket.keys, key)
        if index == len(bucket.keys) or bucket.keys[index] != key:
            error = "<Error><Code>NoSuchKey</Code><Message>There is no such key.</Message></Error>"
            return Response(error, 404, media_type="application/xml")
        content, status = bucket.content, 200
        headers = {"ETag": _ETAG, "Last-Modified": _HTTP_MODIFIED, "Accept-Ranges": "bytes"}
        if found := _RANGE.fullmatch(request.headers.get("range", "")):
            start = int(found[1])
            end = min(int(found[2] or len(content)) + 1, len(content))
            if start >= len(content):
                return Response("<Error><Code>InvalidRange</Code></Error>", 416)
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(content)}"
            content, status = content[start:end], 206
        return Response(content, status, headers, "application/octet-stream")

    async def count_requests(request: Request) -> Response:
        counts, bucket.requests = bucket.requests, Counter()
        return JSONResponse(counts)

    return Starlette(
        routes=[
            Route("/requests", count_requests),
            Route(f"/{BUCKET}", list_keys),
            Route(f"/{BUCKET}/", list_keys),
            Route(f"/{BUCKET}/{{key:path}}", read_key),
        ]
    )


class AnnouncingServer(uvicorn.Server):
    """Print the address when connections are accepted."""

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        await super().startup()
        port = self.servers[0].sockets[0].getsockname()[1]
        print(f"http://127.0.0.1:{port}/", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=int)
    parser.add_argument("file", type=Path)
    parser.add_argument("--delay", type=float, default=0.0, metavar="SECONDS")
    options = parser.parse_args()
    keys = [f"{FOLDER}/run_{number:06}/{FILE_NAME}" for number in range(options.runs)]
    app = create_app(Bucket(keys, options.file.read_bytes()), options.delay)
    config = uvicorn.Config(app, "127.0.0.1", 0, log_level="error", access_log=False)
    AnnouncingServer(config).run()


if __name__ == "__main__":
    main()
