"""Connect to Ray and start shards there: ``--cluster local:4``, ``auto`` or ``ray://host:10001``."""

from __future__ import annotations

import logging
import os
import re
import socket
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from tracklight import __version__
from tracklight.errors import UsageError, import_optional
from tracklight.index.cluster import (
    MAX_CONCURRENCY,
    ShardActor,
    ShardSettings,
    SharedShardActor,
)
from tracklight.index.cluster.remote_shard import (
    DEFAULT_QUERY_TIMEOUT_S,
    Connection,
    RemoteShard,
    ShardMonitor,
)
from tracklight.util.files import hash_key

MAX_SHARDS = 1024

#: How long to wait for actors to start; a node of an autoscaling cluster takes minutes.
_START_TIMEOUT_S = 120.0
_CLUSTER_START_TIMEOUT_S = 600.0

#: How long to wait for the head node to accept a connection.
_CONNECT_TIMEOUT_S = 10.0

#: Memory for results on their way from local shards. Those up to 100 kB do not need it.
_LOCAL_OBJECT_STORE_BYTES = 256 << 20

#: On a busy machine, Ray may not start within the 30 s that it gives itself.
_LOCAL_ATTEMPTS = 3

#: How often to check the connection if no shard answers, and to try to connect again.
_CHECK_INTERVAL_S = 2.0
_RECONNECT_INTERVAL_S = 5.0
#: How long the head may take to list its nodes, and how long calls may take to end.
_NODES_TIMEOUT_S = 30.0
_CALLS_TIMEOUT_S = 120.0

_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # Ray would start another cluster when it is used while there is no connection.
    "RAY_ENABLE_AUTO_CONNECT": "0",
    # Ray would end this process when its head was unreachable for a minute.
    "RAY_gcs_rpc_server_reconnect_timeout_s": str(365 * 24 * 3600),
}

#: The namespace of the actors, in which servers find those of each other.
_NAMESPACE = "tracklight"

_log = logging.getLogger(__name__)

_LOCAL = re.compile(r"local:(\d{1,4})")
_REMOTE = re.compile(r"ray://[^\s/:]+:\d{1,5}")


@dataclass(frozen=True)
class ClusterAddress:
    """A parsed ``--cluster``."""

    text: str
    is_local: bool
    """Whether to start Ray on this machine."""
    shards: int | None
    """The number of shards; None for one per node."""


def parse_cluster(text: str, shards: int | None = None) -> ClusterAddress:
    """Parse ``local:N``, ``auto`` or ``ray://host:port``.

    Args:
        text: Where Ray runs, or how many shards to start on this machine.
        shards: The number of shards of a cluster that is running; None for one per node.

    Raises:
        UsageError: The text or the number is invalid.
    """
    local = _LOCAL.fullmatch(text)
    if not local and text != "auto" and not _REMOTE.fullmatch(text):
        raise UsageError(
            f'--cluster "{text}" is not a cluster; use local:N, auto or ray://HOST:PORT'
        )
    shards = int(local[1]) if local else shards
    if shards is not None and not 1 <= shards <= MAX_SHARDS:
        raise UsageError(f"--cluster needs 1 to {MAX_SHARDS} shards, not {shards}")
    return ClusterAddress(text, local is not None, shards)


class Cluster:
    """A connection to Ray, on which the shards of one log are started.

    Args:
        address: Where Ray runs.
        query_timeout_s: How long a query may take before a shard counts as unavailable.

    Raises:
        MissingDependencyError: Ray is not installed.
        UsageError: There is no such cluster, or it runs another version of Ray or Python.

    Example:
        >>> cluster = Cluster(parse_cluster("local:4"))
        >>> catalog = Catalog(parse_roots("logs"), cluster=cluster)
    """

    def __init__(
        self,
        address: ClusterAddress,
        query_timeout_s: float = DEFAULT_QUERY_TIMEOUT_S,
    ) -> None:
        self.address = address
        self.query_timeout_s = query_timeout_s
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        self.ray: Any = import_optional("ray", "--cluster", "ray")
        self._is_owner = not self.ray.is_initialized()
        if self._is_owner:
            _connect(self.ray, address)
        self._node = self._get_own_node()
        self.shards = address.shards or max(1, self._count_nodes())
        self._monitor: ShardMonitor | None = None
        self._stopped = threading.Event()

    @cached_property
    def connection(self) -> Connection:
        """Through which the shards and tasks use Ray."""
        return Connection(self.ray)

    @property
    def is_local(self) -> bool:
        """Whether all shards are on this machine."""
        return self.address.is_local

    def start_shards(
        self, settings: ShardSettings, on_change: Callable[[], None]
    ) -> list[RemoteShard]:
        """Start the actors and wait until they run.

        On a cluster, servers of the same log with the same settings use the same actors, which end
        when the last server has closed them or was not heard from for two minutes.

        Args:
            settings: What each shard is created with.
            on_change: Called when a shard becomes unavailable or available again.

        Raises:
            UsageError: They cannot be started, or run another version of tracklight.
        """
        shards = [
            RemoteShard(
                self.connection,
                partial(self._create_actor, settings, number),
                self.query_timeout_s,
                on_change,
            )
            for number in range(self.shards)
        ]
        timeout_s = _START_TIMEOUT_S if self.is_local else _CLUSTER_START_TIMEOUT_S
        self._stopped.clear()
        try:
            versions = {shard.start(timeout_s).version for shard in shards}
        except self.ray.exceptions.RayError as error:
            self._shut_down()
            raise UsageError(_explain_start(error, self.ray, self.address)) from error
        if versions != {__version__}:
            self._shut_down()
            raise UsageError(
                f"--cluster {self.address.text} has tracklight {', '.join(sorted(versions))}, "
                f"this server has {__version__}; install the same version on all nodes"
            )
        self._monitor = ShardMonitor(shards)
        if self._is_owner:
            threading.Thread(
                target=self._watch, args=(shards,), name="tracklight-cluster", daemon=True
            ).start()
        return shards

    def close(self) -> None:
        """Disconnect, after the shards were closed."""
        self._shut_down()

    def stop_monitor(self) -> None:
        """Stop replacing actors, before the shards are closed."""
        self._stopped.set()
        if self._monitor is not None:
            self._monitor.close()
            self._monitor = None

    def _create_actor(self, settings: ShardSettings, number: int) -> Any:
        """Start an actor, or find the one that another server of a cluster has started."""
        kind = ShardActor if self.is_local else SharedShardActor
        options: dict[str, Any] = {
            "scheduling_strategy": "SPREAD",
            "max_restarts": -1,
            "max_task_retries": 0,
            "max_concurrency": MAX_CONCURRENCY,
            "num_cpus": 0,
        }
        if not self.is_local:
            options |= {
                # Ray's scheduler and autoscaler have to know what a shard needs.
                "num_cpus": 1,
                "memory": settings.memory_bytes,
                "name": self.make_actor_name(settings, number),
                "namespace": _NAMESPACE,
                "lifetime": "detached",
                "get_if_exists": True,
            }
        return self.ray.remote(kind).options(**options).remote(settings)

    def make_actor_name(self, settings: ShardSettings, number: int) -> str:
        """Return the name by which servers with the same settings find the same shard."""
        return f"shard-{hash_key(repr((settings, self.shards, __version__)))}-{number}"

    def _watch(self, shards: Sequence[RemoteShard]) -> None:
        """Connect again when the cluster has ended or its head has been restarted."""
        while not self._stopped.wait(_CHECK_INTERVAL_S):
            if any(shard.state is not None for shard in shards) or self._is_connected():
                continue
            _log.warning("--cluster %s: Ray is lost; connecting again", self.address.text)
            self.connection.close(_CALLS_TIMEOUT_S)
            while not self._stopped.is_set():
                try:
                    self._reconnect(shards)
                except Exception as error:  # of many kinds, see _connect
                    _log.info("--cluster %s: not connected: %s", self.address.text, error)
                    self._stopped.wait(_RECONNECT_INTERVAL_S)
                else:
                    _log.warning("--cluster %s: connected again", self.address.text)
                    self.connection.open()
                    break

    def _reconnect(self, shards: Sequence[RemoteShard]) -> None:
        self.ray.shutdown()
        _connect(self.ray, self.address)
        self._node = self._get_own_node()
        for shard in shards:
            shard.create_actor()

    def _get_own_node(self) -> tuple[str, str]:
        """Return the node through which this process uses Ray, and the address of the head."""
        context = self.ray.get_runtime_context()
        return context.get_node_id(), context.gcs_address

    def _is_connected(self) -> bool:
        """Return whether the head answers and knows the node of this process."""
        node, head = self._node
        if self.address.is_local or self.address.text == "auto":
            try:
                _connect_to(head)
            except OSError:
                return False
        nodes: list[Any] = []

        def list_nodes() -> None:
            with suppress(Exception):  # of many kinds: RayError, RpcError, ConnectionError …
                nodes.extend(self.ray.nodes())

        # It never returns if the head has been replaced.
        thread = threading.Thread(target=list_nodes, daemon=True)
        thread.start()
        thread.join(_NODES_TIMEOUT_S)
        return any(item["Alive"] and item["NodeID"] == node for item in nodes)

    def _count_nodes(self) -> int:
        """Count the nodes that have a CPU for a shard; the head often offers none."""
        nodes = self.ray.nodes()
        return sum(bool(node["Alive"] and node["Resources"].get("CPU")) for node in nodes)

    def _shut_down(self) -> None:
        if self._is_owner:
            self.ray.shutdown()


def _connect(ray: Any, address: ClusterAddress) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address.is_local:
        # With the niceness of 15 that Ray gives to workers, shards answer late on a busy machine.
        os.environ.setdefault("RAY_worker_niceness", "0")
        options |= {
            "address": "local",
            "num_cpus": address.shards,
            "include_dashboard": False,
            "object_store_memory": _LOCAL_OBJECT_STORE_BYTES,
        }
    else:
        _check_reachable(address)
        options |= {"address": address.text, "namespace": _NAMESPACE}
    # The error says the same.
    warnings.filterwarnings("ignore", "Ray Client connection timed out")
    attempts = _LOCAL_ATTEMPTS if address.is_local else 1
    for attempt in range(1, attempts + 1):
        try:
            ray.init(**options)
            return
        except Exception as error:  # of many kinds: ConnectionError, RuntimeError, RpcError …
            if attempt == attempts:
                raise UsageError(_explain_connection(error, ray, address)) from error
            ray.shutdown()


def _check_reachable(address: ClusterAddress) -> None:
    """Report an address that nothing listens at; Ray would try to connect for minutes.

    Raises:
        UsageError: There is nothing.
    """
    text = os.environ.get("RAY_ADDRESS", "") if address.text == "auto" else address.text
    place = text.removeprefix("ray://")
    if not place.rpartition(":")[2].isdigit():
        return  # Ray looks for a cluster on this machine
    try:
        _connect_to(place)
    except OSError as error:
        raise UsageError(f"--cluster {address.text}: there is no Ray cluster at {place}") from error


def _connect_to(place: str) -> None:
    """Raise OSError if nothing listens at ``HOST:PORT``."""
    host, _, port = place.rpartition(":")
    socket.create_connection((host, int(port)), _CONNECT_TIMEOUT_S).close()


def _explain_connection(error: Exception, ray: Any, address: ClusterAddress) -> str:
    text = str(error)
    if "version" in text.lower() and ("mismatch" in text.lower() or "differ" in text.lower()):
        return (
            f"--cluster {address.text} runs another version of Ray or Python than this server "
            f"(Ray {ray.__version__}); install the same versions"
        )
    if address.text == "auto":
        return "--cluster auto: no Ray cluster runs on this machine; start one with `ray start`"
    if address.is_local:
        return f"--cluster {address.text}: Ray could not be started: {_get_first_line(text)}"
    return f"--cluster {address.text}: there is no Ray cluster at this address"


def _explain_start(error: Exception, ray: Any, address: ClusterAddress) -> str:
    if isinstance(error, ray.exceptions.GetTimeoutError):
        return (
            f"--cluster {address.text}: the shards did not start; is there a node with a free CPU "
            "and as much memory as --memory?"
        )
    if "No module named" in str(error):
        return f"--cluster {address.text}: install tracklight {__version__} on all nodes"
    return f"--cluster {address.text}: a shard could not be started: {_get_first_line(str(error))}"


def _get_first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
