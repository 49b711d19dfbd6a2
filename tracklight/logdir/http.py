"""Logs at http:// and https:// URLs, on any web server that lists directories.

Object stores list files with their sizes; a web server only gives an HTML page of links. So each
directory page is parsed for links, and the size of each relevant file is requested with HEAD.
Files are read with range requests. Servers without them (``python -m http.server``) work too: the
response body is then read sequentially, and the bytes before the requested range are skipped.
"""

from __future__ import annotations

import asyncio
import atexit
import errno
import importlib
import json
import threading
import time
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import quote, unquote, urljoin, urlsplit

from tracklight.errors import Message, MissingDependencyError
from tracklight.logdir.filesystem import FileHandle, FileStat, ListedFile, Listing, ReadSizes

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")

#: Delays between attempts. No attempt starts later than `_RETRY_WINDOW_S` after the first one.
_RETRY_DELAYS_S = (0.1, 0.4, 1.6)
_RETRY_WINDOW_S = 10.0
_CONNECT_TIMEOUT_S = 10.0
#: Maximum pause of a server while it sends a response.
_READ_TIMEOUT_S = 30.0

_MAX_CONCURRENT_REQUESTS = 16
_MAX_LISTING_BYTES = 64 << 20
#: Bounds for directories that contain links to their parent directories.
_MAX_NESTED_DIRECTORIES = 32
_MAX_DIRECTORIES = 20_000
_SKIP_CHUNK_BYTES = 1 << 20

_NOT_FOUND = (404, 410)
_DENIED = (401, 403, 407)
_RANGE_NOT_SATISFIABLE = 416
#: Allowed unescaped in the path of a URL (RFC 3986), so that names stay readable.
_PLAIN = "!$&'()*+,;=:@"
_IDENTITY = {"Accept-Encoding": "identity"}

#: Titles of the listings of Apache, nginx and Python, to recognize the page of an empty directory.
_LISTING_TITLES = ("index of", "directory listing", "listing of")


class HttpFileSystem:
    """The files of a web server; see `FileSystem`."""

    read_sizes = ReadSizes(min_bytes=4 << 20, initial_bytes=4 << 20, max_bytes=16 << 20)

    def __init__(self) -> None:
        self._client = _get_client()

    def list_files(
        self, root: str, is_wanted: Callable[[str], bool], is_excluded: Callable[[str], bool]
    ) -> Listing:
        return self._client.run(_DirectoryWalk(self._client, root, is_wanted, is_excluded).run)

    def exists(self, path: str) -> bool:
        try:
            self._client.run(lambda: self._client.get_page(path))
        except FileNotFoundError:
            return False
        except OSError:  # reported when the log is read
            return True
        return True

    def find_stat(self, path: str) -> FileStat | None:
        try:
            return self._client.run(lambda: self._client.stat(path))
        except FileNotFoundError:
            return None

    def read(self, path: str, offset: int, size: int) -> bytes:
        with self.open(path) as handle:
            return handle.read(offset, size)

    def open(self, path: str) -> FileHandle:
        return HttpHandle(self._client, path)


class HttpHandle:
    """A file on a web server.

    If the server ignores the requested range, its response is kept open, so that reading a file
    from start to end downloads it once. Consecutive reads overlap by part of a record, so the last
    bytes that were read are kept as well.
    """

    def __init__(self, client: _Client, url: str) -> None:
        self._client = client
        self._url = url
        self._body: aiohttp.ClientResponse | None = None
        self._position = 0
        self._recent = b""

    def read(self, offset: int, size: int) -> bytes:
        if size <= 0:
            return b""
        return self._client.run(lambda: self._client.retry(lambda: self._read(offset, size)))

    def read_into(self, buffer: memoryview, offset: int) -> int:
        data = self.read(offset, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def __enter__(self) -> FileHandle:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._body is not None:
            self._client.run(self._close)

    async def _read(self, offset: int, size: int) -> bytes:
        if self._body is None or offset < self._position - len(self._recent):
            await self._close()
            headers = {**_IDENTITY, "Range": f"bytes={offset}-{offset + size - 1}"}
            response = await self._client.send("GET", self._url, headers)
            if response.status == _RANGE_NOT_SATISFIABLE:
                response.release()
                return b""
            if response.status == 206:
                async with response:
                    _check_range(response, offset)
                    return await response.read()
            self._body, self._position = response, 0
        try:
            return await self._read_body(self._body, offset, size)
        except BaseException:
            await self._close()
            raise

    async def _read_body(self, body: aiohttp.ClientResponse, offset: int, size: int) -> bytes:
        while self._position < offset:
            skipped = await body.content.read(min(offset - self._position, _SKIP_CHUNK_BYTES))
            if not skipped:
                return b""
            self._position += len(skipped)
            self._recent = b""
        overlap = self._position - offset
        chunks = [self._recent[len(self._recent) - overlap :][:size]] if overlap else []
        left = size - overlap
        while left > 0:
            chunk = await body.content.read(left)
            if not chunk:
                break
            chunks.append(chunk)
            left -= len(chunk)
            self._position += len(chunk)
        data = b"".join(chunks)
        if overlap <= size:
            self._recent = data
        return data

    async def _close(self) -> None:
        if self._body is not None:
            self._body.close()
        self._body, self._recent = None, b""


class _Client:
    """One connection pool for the process, used from any thread."""

    def __init__(self) -> None:
        try:
            self._aiohttp = importlib.import_module("aiohttp")
            self._asyn = importlib.import_module("fsspec.asyn")
        except ImportError:
            raise MissingDependencyError("a remote log (http://…)", "remote") from None
        self._session: aiohttp.ClientSession | None = None
        self._slots: asyncio.Semaphore | None = None
        atexit.register(self._close)

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run a coroutine on fsspec's event loop, which runs in its own thread."""
        result: T = self._asyn.sync(self._asyn.get_loop(), work)
        return result

    async def send(self, method: str, url: str, headers: dict[str, str]) -> aiohttp.ClientResponse:
        """Send a request; the caller closes the response. Error statuses raise OSError."""
        response = await self._get_session().request(
            method, url, headers=headers, allow_redirects=True
        )
        try:
            if response.status != _RANGE_NOT_SATISFIABLE:
                _check_status(response)
        except OSError:
            response.release()
            raise
        return response

    async def retry(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Retry where that may help; the final error is an OSError."""
        errors = self._aiohttp.ClientError, asyncio.TimeoutError, _StatusError
        started_s = time.monotonic()
        for delay_s in (*_RETRY_DELAYS_S, None):
            try:
                return await attempt()
            except errors as error:
                is_final = isinstance(error, _StatusError) and not error.is_temporary
                is_late = time.monotonic() - started_s > _RETRY_WINDOW_S
                if delay_s is None or is_final or is_late:
                    raise _describe(error) from error
            await asyncio.sleep(delay_s)
        raise AssertionError("the last attempt returns or raises")

    async def stat(self, url: str) -> FileStat:
        async with self._get_slots():
            return await self.retry(lambda: self._stat(url))

    async def get_page(self, url: str) -> ListingPage:
        async with self._get_slots():
            return await self.retry(lambda: self._get_page(url))

    async def _stat(self, url: str) -> FileStat:
        try:
            async with await self.send("HEAD", url, _IDENTITY) as response:
                _check_is_file(response, url)
                size = _find_size(response)
                if size is not None:
                    return _make_stat(response, size)
        except (PermissionError, _StatusError):
            pass  # not every server supports HEAD; if GET fails too, its error is raised
        # Without a Content-Length, the response to a range of one byte has the total size.
        headers = {**_IDENTITY, "Range": "bytes=0-0"}
        async with await self.send("GET", url, headers) as response:
            _check_is_file(response, url)
            size = _find_size(response)
            if size is None:
                size = 0
                async for chunk in response.content.iter_chunked(_SKIP_CHUNK_BYTES):
                    size += len(chunk)
            stat = _make_stat(response, size)
            response.close()
            return stat

    async def _get_page(self, url: str) -> ListingPage:
        async with await self.send("GET", url, {}) as response:
            kind = response.headers.get("Content-Type", "text/html").partition(";")[0].strip()
            data = b""
            if kind.lower() in ("text/html", "application/xhtml+xml", "application/json"):
                data = await response.content.read(_MAX_LISTING_BYTES)
                while not response.content.at_eof() and len(data) < _MAX_LISTING_BYTES:
                    data += await response.content.read(_MAX_LISTING_BYTES - len(data))
            text = _decode(data, response.charset or "utf-8")
            return ListingPage(str(response.url), kind.lower(), text)

    def _get_slots(self) -> asyncio.Semaphore:
        if self._slots is None:  # created on the loop, because Python 3.10 binds it to that loop
            self._slots = asyncio.Semaphore(_MAX_CONCURRENT_REQUESTS)
        return self._slots

    def _get_session(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            timeout = self._aiohttp.ClientTimeout(
                total=None, sock_connect=_CONNECT_TIMEOUT_S, sock_read=_READ_TIMEOUT_S
            )
            # trust_env: use proxy variables and the passwords in ~/.netrc, like curl.
            self._session = self._aiohttp.ClientSession(timeout=timeout, trust_env=True)
        return self._session

    def _close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            self._asyn.sync(self._asyn.get_loop(), session.close, timeout=1)


_client_lock = threading.Lock()
_clients: list[_Client] = []


def _get_client() -> _Client:
    with _client_lock:
        if not _clients:
            _clients.append(_Client())
        return _clients[0]


class ListingPage(NamedTuple):
    """A page that should be a directory listing; ``url`` is the URL after redirects."""

    url: str
    content_type: str
    text: str


class ListingLink(NamedTuple):
    name: str
    is_directory: bool


class _DirectoryWalk:
    """One walk over the directories below ``root``; see `FileSystem.list_files`."""

    def __init__(
        self,
        client: _Client,
        root: str,
        is_wanted: Callable[[str], bool],
        is_excluded: Callable[[str], bool],
    ) -> None:
        self._client = client
        self._root = root
        self._is_wanted = is_wanted
        self._is_excluded = is_excluded
        self._listing = Listing()
        self._directories = 0

    async def run(self) -> Listing:
        name = unquote(urlsplit(self._root).path.rpartition("/")[2])
        # As for local logs, the root may be an event file instead of a directory.
        if not (self._is_wanted(name) and await self._add_file("", name, self._root)):
            await self._list_directory("", self._root, 0)
        return self._listing

    async def _list_directory(self, relative: str, url: str, depth: int) -> None:
        self._directories += 1
        if self._directories > _MAX_DIRECTORIES:
            if self._directories == _MAX_DIRECTORIES + 1:
                self._listing.problems.append(
                    Message.format(
                        "files.too_many_directories",
                        '"{url}" has more than {max_directories:,} directories; '
                        "the others are ignored",
                        url=self._root,
                        max_directories=_MAX_DIRECTORIES,
                    )
                )
            return
        try:
            page = await self._client.get_page(f"{url}/")
        except FileNotFoundError:
            if not relative:
                self._listing.problems.append(
                    Message.format("files.nothing_at", 'nothing found at "{url}"', url=url)
                )
            return
        except OSError as error:
            self._listing.add_problem(url, error)
            return
        links = parse_links(page)
        if links is None:
            self._add_no_listing(relative, url)
            return
        jobs: list[Awaitable[object]] = []
        for link in links:
            child = f"{relative}/{link.name}" if relative else link.name
            child_url = f"{url}/{quote(link.name, _PLAIN, errors='surrogateescape')}"
            if not link.is_directory:
                if self._is_wanted(link.name):
                    jobs.append(self._add_file(relative, link.name, child_url))
            elif depth < _MAX_NESTED_DIRECTORIES and not self._is_excluded(child):
                jobs.append(self._list_directory(child, child_url, depth + 1))
        await asyncio.gather(*jobs)

    async def _add_file(self, directory: str, name: str, url: str) -> bool:
        try:
            stat = await self._client.stat(url)
        except FileNotFoundError:  # deleted since it was listed
            return False
        except OSError as error:
            self._listing.problems.append(
                Message.format(
                    "files.cannot_read",
                    'cannot read "{path}": {reason}',
                    path=url,
                    reason=error.strerror or error,
                )
            )
            return True
        self._listing.files.append(ListedFile(directory, name, url, stat))
        return True

    def _add_no_listing(self, relative: str, url: str) -> None:
        # Below the root, a directory may well have an index.html instead of a listing.
        if not relative:
            self._listing.problems.append(
                Message.format(
                    "files.no_listing",
                    '"{url}" is not a directory listing; enable listings (autoindex) on the server',
                    url=url,
                )
            )


def parse_links(page: ListingPage) -> list[ListingLink] | None:
    """Return the entries of a directory listing, or None if the page is something else."""
    if page.content_type == "application/json":
        return _parse_json(page.text)
    parser = _LinkParser()
    parser.feed(page.text)
    base = unquote(urlsplit(page.url).path, errors="surrogateescape")
    base = base[: base.rfind("/") + 1]
    host = urlsplit(page.url).netloc
    found: dict[ListingLink, None] = {}
    for href in parser.hrefs:
        try:
            target = urlsplit(urljoin(page.url, href))
        except ValueError:  # not a URL
            continue
        path = unquote(target.path, errors="surrogateescape")
        if target.netloc != host or target.query or not path.startswith(base):
            continue
        name = path[len(base) :]
        link = ListingLink(name.removesuffix("/"), name.endswith("/"))
        if link.name and "/" not in link.name and link.name not in (".", ".."):
            found[link] = None
    is_listing = any(title in parser.title.lower() for title in _LISTING_TITLES)
    return list(found) if found or is_listing else None


def _parse_json(text: str) -> list[ListingLink] | None:
    """Parse a listing of nginx with ``autoindex_format json``."""
    try:
        entries = json.loads(text)
        links = [ListingLink(str(entry["name"]), entry["type"] == "directory") for entry in entries]
    except (ValueError, TypeError, KeyError):
        return None
    return [link for link in links if "/" not in link.name and link.name not in ("", ".", "..")]


class _LinkParser(HTMLParser):
    """Collect the targets of all links, and the title."""

    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []
        self.title = ""
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_title = tag in ("title", "h1")
        href = dict(attrs).get("href") if tag == "a" else None
        if href:
            self.hrefs.append(href)

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data


class _StatusError(OSError):
    """An error status other than "not found" and "denied"."""

    def __init__(self, status: int, reason: str, url: str) -> None:
        super().__init__(errno.EIO, f"the server responded {status} {reason}".rstrip(), url)
        self.is_temporary = status >= 500 or status == 429


def _check_status(response: aiohttp.ClientResponse) -> None:
    status, url = response.status, str(response.url)
    if status < 400:
        return
    if status in _NOT_FOUND:
        raise FileNotFoundError(errno.ENOENT, f"not found on the server ({status})", url)
    if status in _DENIED:
        raise PermissionError(errno.EACCES, f"the server denied access ({status})", url)
    raise _StatusError(status, response.reason or "", url)


def _check_is_file(response: aiohttp.ClientResponse, url: str) -> None:
    """Raise if the URL is a directory: servers redirect to the same URL with a trailing slash."""
    if response.url.path.endswith("/"):
        raise FileNotFoundError(errno.ENOENT, "is a directory", url)


def _decode(data: bytes, charset: str) -> str:
    try:
        return data.decode(charset, "replace")
    except (LookupError, UnicodeError):  # an unknown charset
        return data.decode("utf-8", "replace")


def _check_range(response: aiohttp.ClientResponse, offset: int) -> None:
    sent = response.headers.get("Content-Range", "")
    if not sent.startswith(f"bytes {offset}-"):
        message = f"the server sent another range ({sent}) than requested (from byte {offset})"
        raise OSError(errno.EIO, message, str(response.url))


def _find_size(response: aiohttp.ClientResponse) -> int | None:
    """Return the size of the whole file according to the headers, or None if they lack it."""
    headers = response.headers
    if headers.get("Content-Encoding", "identity") not in ("identity", ""):
        return None  # the length is that of the compressed file
    if response.status == 206:
        total = headers.get("Content-Range", "").rpartition("/")[2]
    elif response.status == _RANGE_NOT_SATISFIABLE:  # an empty file has no first byte
        total = headers.get("Content-Range", "").rpartition("/")[2] or "0"
    else:
        total = headers.get("Content-Length", "")
    return int(total) if total.isascii() and total.isdigit() else None


def _make_stat(response: aiohttp.ClientResponse, size: int) -> FileStat:
    try:
        modified = parsedate_to_datetime(response.headers["Last-Modified"])
        mtime_s = int(modified.timestamp())
    except (KeyError, ValueError, TypeError, OverflowError):
        mtime_s = 0
    return FileStat(size, mtime_s * 1_000_000_000, response.headers.get("ETag", "").strip('"'))


def _describe(error: BaseException) -> OSError:
    host, port = getattr(error, "host", None), getattr(error, "port", None)
    if isinstance(error, _StatusError):
        return error
    if host is not None:  # aiohttp.ClientConnectorError
        return OSError(errno.ECONNREFUSED, f"cannot connect to {host}:{port}")
    if isinstance(error, asyncio.TimeoutError):
        return OSError(errno.ETIMEDOUT, "the server does not respond")
    return OSError(errno.EIO, " ".join(str(error).split()) or type(error).__name__)
