"""``trace_on``, ``trace_export`` and ``trace_off`` of `tracklight.summary`, for any framework.

    tracklight.summary.trace_on(graph=True, profiler=True)
    my_function(x)
    with writer.as_default():
        tracklight.summary.trace_export("my_function", step=0, profiler_outdir="logs/run1")

All frameworks that the program has loaded are traced: functions of ``tf.function`` and ``jax.jit``
and PyTorch modules that are called while the trace is on are logged as graphs. There is one
`GraphCapture` for each framework. The captures for JAX and TensorFlow hook into a function of the
framework; PyTorch has public hooks. A jaxpr, the trace of a JAX function, is converted to a
GraphDef here.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from tracklight.formats import proto
from tracklight.profiler import PROFILE_DIR, Profiler, create_profiler
from tracklight.util.parsing import extract_jax_line
from tracklight.writer import event_writer, warnings
from tracklight.writer.warnings import ArgumentError, warn_or_raise

if TYPE_CHECKING:
    from tracklight.formats.proto import Message


__all__ = ["trace_export", "trace_off", "trace_on"]

# ---- graphs

#: The caches from which JAX dispatches calls to compiled code without running Python.
_PJIT_CACHES = ("_cpp_pjit_cache_fun_only", "_cpp_pjit_cache_explicit_attributes")
_PJIT_FUNCTION = "_run_python_pjit"

#: Returns the replacement for a function, given the function and the list of listeners.
Wrap: TypeAlias = Callable[[Callable[..., Any], "list[Any]"], Callable[..., Any]]


class GraphCapture(Protocol):
    """Collects the graphs of what a framework runs."""

    def start(self) -> None: ...

    def stop(self) -> list[bytes]:
        """Stop and return a serialized GraphDef for each function or module that was called."""


class FunctionHook:
    """Replace a function of a framework while there are listeners.

    Listeners share one replacement. If each installed its own, the order of removal would decide
    which function is left in the end.

    Args:
        wrap: Returns the replacement.
    """

    def __init__(self, wrap: Wrap) -> None:
        self._wrap = wrap
        self._listeners: list[Any] = []
        self._lock = threading.Lock()

    def add(self, owner: Any, name: str, listener: object) -> None:
        with self._lock:
            if not self._listeners:
                self._original = owner, name, getattr(owner, name)
                setattr(owner, name, self._wrap(self._original[2], self._listeners))
            self._listeners.append(listener)

    def remove(self, listener: object) -> None:
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)
                if not self._listeners:
                    setattr(*self._original)


class JaxGraphCapture:
    """Collect the jaxprs of all jitted functions of the user that are called.

    JAX has no public API for this. The hook sees calls that are not served by JAX's C++ dispatch
    caches, which are therefore cleared. Nothing is recompiled.
    """

    def __init__(self) -> None:
        self._jaxprs: dict[int, tuple[str, Any]] = {}

    def start(self) -> None:
        pjit = sys.modules.get("jax._src.pjit")
        if not hasattr(pjit, _PJIT_FUNCTION):
            version = getattr(sys.modules["jax"], "__version__", "")
            raise ArgumentError("graph", f"cannot be captured from JAX {version}: not supported")
        _pjit_hook.add(pjit, _PJIT_FUNCTION, self)
        for cache in _PJIT_CACHES:
            if hasattr(pjit, cache):
                getattr(pjit, cache).clear()

    def stop(self) -> list[bytes]:

        _pjit_hook.remove(self)
        jaxprs = self._jaxprs.values()
        return [build_jaxpr_graph(jaxpr, name).SerializeToString() for name, jaxpr in jaxprs]

    def record_call(self, equation: Any, function: Any) -> None:
        module = getattr(function, "__module__", None) or ""
        # JAX itself contains many small jitted functions.
        if module.partition(".")[0] not in ("jax", "jaxlib"):
            jaxpr = equation.params["jaxpr"]
            self._jaxprs[id(jaxpr)] = str(equation.params.get("name", "function")), jaxpr


def _wrap_pjit(run: Callable[..., Any], captures: list[Any]) -> Callable[..., Any]:
    def run_and_record(equation: Any, arguments: Any, function: Any, *rest: Any) -> Any:
        for capture in captures:
            capture.record_call(equation, function)
        return run(equation, arguments, function, *rest)

    return run_and_record


_pjit_hook = FunctionHook(_wrap_pjit)


class TensorFlowGraphCapture:
    """Collect the graph of each ``tf.function`` that the program calls directly.

    TensorFlow's own trace misses functions that were called before and functions compiled by XLA,
    such as the training step of a Keras model, and it has no shapes.
    """

    def __init__(self) -> None:
        self._graphs: dict[int, Any] = {}

    def start(self) -> None:
        function_class = type(sys.modules["tensorflow"].function(lambda: None))
        _tf_function_hook.add(function_class, "__call__", self)

    def stop(self) -> list[bytes]:
        _tf_function_hook.remove(self)
        graphs = self._graphs.values()
        return [graph.as_graph_def(add_shapes=True).SerializeToString() for graph in graphs]

    def record_call(self, function: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        if id(function) not in self._graphs:
            # The call has just traced the function for these arguments; this does not trace again.
            concrete = function.get_concrete_function(*arguments, **named)
            self._graphs[id(function)] = concrete.graph


def _wrap_tf_function(call: Callable[..., Any], captures: list[Any]) -> Callable[..., Any]:
    current = threading.local()

    def call_and_record(function: Any, *arguments: Any, **named: Any) -> Any:
        if getattr(current, "is_calling", False):
            return call(function, *arguments, **named)
        current.is_calling = True
        try:
            result = call(function, *arguments, **named)
            for capture in captures:
                capture.record_call(function, arguments, named)
        finally:
            current.is_calling = False
        return result

    return call_and_record


_tf_function_hook = FunctionHook(_wrap_tf_function)


class TorchGraphCapture:
    """Collect each module that the program calls directly, with the arguments of its first call.

    The graphs are read from the modules when the capture stops.
    """

    def __init__(self) -> None:
        self._calls: dict[int, tuple[Any, tuple[Any, ...]]] = {}
        self._depth = 0

    def start(self) -> None:
        hooks = sys.modules["torch.nn.modules.module"]
        self._hooks = [
            hooks.register_module_forward_pre_hook(self._enter),
            hooks.register_module_forward_hook(self._leave, always_call=True),
        ]

    def stop(self) -> list[bytes]:
        from tracklight.torch.graphs import read_model_graph

        for hook in self._hooks:
            hook.remove()
        return [
            read_model_graph(module, arguments, verbose=False, strict=False).SerializeToString()
            for module, arguments in self._calls.values()
        ]

    def _enter(self, module: Any, arguments: tuple[Any, ...]) -> None:
        if self._depth == 0:
            self._calls.setdefault(id(module), (module, arguments))
        self._depth += 1

    def _leave(self, module: Any, arguments: Any, output: Any) -> None:
        self._depth = max(0, self._depth - 1)


CAPTURE_CLASSES: dict[str, Callable[[], GraphCapture]] = {
    "tensorflow": TensorFlowGraphCapture,
    "jax": JaxGraphCapture,
    "torch": TorchGraphCapture,
}


def create_graph_capture(framework: str) -> GraphCapture:
    """Return the graph capture of a framework, which must be loaded."""
    return CAPTURE_CLASSES[framework]()


# ---- jaxprs

#: Primitives that only call an inner function. They become a scope instead of a node.
_CALL_PRIMITIVES = frozenset(
    {
        "closed_call",
        "core_call",
        "custom_jvp_call",
        "custom_lin",
        "custom_vjp_call",
        "custom_vjp_call_jaxpr",
        "jit",
        "pjit",
        "remote",
        "remat",
        "checkpoint",
        "xla_call",
    }
)
_MAX_PARAMETER_CHARS = 200


def build_jaxpr_graph(jaxpr: Any, name: str) -> Message:
    """Return the GraphDef of a function. Inner functions and named scopes become name scopes."""
    builder = _GraphBuilder()
    inner = jaxpr.jaxpr
    arguments = getattr(inner.debug_info, "arg_names", None) or ()
    names: dict[Any, str] = {}
    for number, variable in enumerate(inner.invars):
        label = arguments[number] if number < len(arguments) else None
        node = builder.add(f"{name}/{_sanitize_name(label or f'input_{number}')}", "Placeholder")
        builder.describe(node, [variable.aval], {})
        names[variable] = node.name.decode()
    results = builder.add_jaxpr(inner, names, name)
    for number, (variable, result) in enumerate(zip(inner.outvars, results, strict=True)):
        node = builder.add(f"{name}/output_{number}", "Identity", [result])
        builder.describe(node, [variable.aval], {})
    return proto.GraphDef(node=builder.nodes, versions=proto.VersionDef(producer=1))


class _GraphBuilder:
    """Collects nodes under unique names."""

    def __init__(self) -> None:
        self.nodes: list[Message] = []
        self._name_counts: dict[str, int] = {}

    def add_jaxpr(self, jaxpr: Any, names: dict[Any, str], scope: str) -> list[str]:
        """Add the equations of a jaxpr.

        Args:
            jaxpr: The function.
            names: Node names of the variables known so far, such as the inputs; extended.
            scope: Prefix of the node names.

        Returns:
            The node names of the outputs.
        """
        for number, variable in enumerate(jaxpr.constvars):
            if variable not in names:
                node = self.add(f"{scope}/constant_{number}", "Const")
                self.describe(node, [variable.aval], {})
                names[variable] = node.name.decode()
        for equation in jaxpr.eqns:
            stack = str(equation.source_info.name_stack).split("/")
            node_scope = "/".join([scope, *(_sanitize_name(part) for part in stack if part)])
            sources = [self._get_source_name(item, names, node_scope) for item in equation.invars]
            outputs = self._add_equation(equation, sources, node_scope)
            names.update(zip(equation.outvars, outputs, strict=True))
        return [self._get_source_name(item, names, scope) for item in jaxpr.outvars]

    def add(self, name: str, op: str, inputs: Sequence[str] = ()) -> Message:
        name = self._make_unique(name)
        sources = [source.encode() for source in inputs]
        node = proto.NodeDef(name=name.encode(), op=op.encode(), input=sources)
        self.nodes.append(node)
        return node

    def describe(self, node: Message, avals: Sequence[Any], parameters: dict[str, Any]) -> None:
        """Add shapes, dtypes and parameters to a node."""
        shapes = [_build_shape(getattr(aval, "shape", ())) for aval in avals]
        listed = proto.AttrValue(list=proto.AttrList(shape=shapes))
        node.attr.append(proto.Attr(key=b"_output_shapes", value=listed))
        types = ", ".join(str(getattr(aval, "dtype", aval)) for aval in avals)
        for key, value in {"dtype": types, **parameters}.items():
            text = str(value)[:_MAX_PARAMETER_CHARS].encode()
            node.attr.append(proto.Attr(key=key.encode(), value=proto.AttrValue(s=text)))

    def _add_equation(self, equation: Any, sources: list[str], scope: str) -> list[str]:
        primitive = equation.primitive.name
        inner = _collect_jaxprs(equation.params)
        if primitive in _CALL_PRIMITIVES and len(inner) == 1:
            (called,) = inner.values()
            inner_scope = self._make_unique(
                f"{scope}/{_sanitize_name(equation.params.get('name') or primitive)}"
            )
            return self.add_jaxpr(
                called, dict(zip(called.invars, sources, strict=False)), inner_scope
            )
        if not inner:
            return self._add_primitive(equation, sources, f"{scope}/{primitive}")
        # A loop or a branch: inner functions get a scope each, and a final node joins them.
        inner_scope = self._make_unique(f"{scope}/{primitive}")
        results = []
        for key, body in inner.items():
            operands = _get_operands(equation, key, sources)[-len(body.invars) :]
            names = dict(zip(body.invars, operands, strict=False))
            results += self.add_jaxpr(body, names, f"{inner_scope}/{key}")
        return self._add_primitive(equation, sources + results, f"{inner_scope}/{primitive}")

    def _add_primitive(self, equation: Any, sources: list[str], name: str) -> list[str]:
        node = self.add(name, equation.primitive.name, sources)
        plain = {key: item for key, item in equation.params.items() if not _list_jaxprs(item)}
        plain["source"] = _get_source_line(equation)
        self.describe(node, [variable.aval for variable in equation.outvars], plain)
        name = node.name.decode()
        return [f"{name}:{index}" if index else name for index in range(len(equation.outvars))]

    def _get_source_name(self, item: Any, names: dict[Any, str], scope: str) -> str:
        if not hasattr(item, "val"):
            return names[item] if item in names else self._add_unbound_input(item, names, scope)
        node = self.add(f"{scope}/constant", "Const")
        self.describe(node, [item.aval], {"value": item.val})
        return str(node.name.decode())

    def _add_unbound_input(self, item: Any, names: dict[Any, str], scope: str) -> str:
        """Add an input of an inner function that is not bound to an operand."""
        node = self.add(f"{scope}/input", "Placeholder")
        self.describe(node, [item.aval], {})
        names[item] = node.name.decode()
        return names[item]

    def _make_unique(self, name: str) -> str:
        count = self._name_counts.get(name, 0)
        self._name_counts[name] = count + 1
        return self._make_unique(f"{name}_{count}") if count else name


def _collect_jaxprs(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the inner functions among the parameters of a primitive, by parameter name."""
    collected = {}
    for key, value in parameters.items():
        jaxprs = _list_jaxprs(value)
        for number, jaxpr in enumerate(jaxprs):
            collected[f"{key}_{number}" if len(jaxprs) > 1 else key] = jaxpr
    return collected


def _list_jaxprs(value: Any) -> list[Any]:
    items = value if isinstance(value, (tuple, list)) else [value]
    jaxprs = [getattr(item, "jaxpr", item) for item in items]
    return [jaxpr for jaxpr in jaxprs if hasattr(jaxpr, "eqns")]


def _get_operands(equation: Any, key: str, sources: list[str]) -> list[str]:
    """Return the operands that an inner function of a primitive is called with."""
    if equation.primitive.name != "while":
        return sources
    # The operands of `while` are constants of the condition, constants of the body, and the carry.
    body_start = equation.params["cond_nconsts"]
    carry_start = body_start + equation.params["body_nconsts"]
    is_condition = key == "cond_jaxpr"
    constants = sources[:body_start] if is_condition else sources[body_start:carry_start]
    return constants + sources[carry_start:]


def _get_source_line(equation: Any) -> str:
    """Return the line of the user's program. JAX has no public API for it."""
    module = sys.modules.get("jax._src.source_info_util")
    summarize = getattr(module, "summarize", None)
    return "" if summarize is None else extract_jax_line(str(summarize(equation.source_info)))


def _build_shape(shape: Sequence[Any]) -> Message:
    # Sizes that are unknown until the function runs are symbolic.
    sizes = [size if isinstance(size, int) else -1 for size in shape]
    return proto.TensorShapeProto(dim=[proto.Dim(size=size) for size in sizes])


def _sanitize_name(label: str) -> str:
    """Replace characters with a meaning in node names: scopes, output numbers, control inputs."""
    for character in "/:^":
        label = label.replace(character, ".")
    return label.strip() or "unnamed"


# ---- traces


class _RunningProfiler(NamedTuple):
    framework: str
    profiler: Profiler
    #: The destination is only known when the trace is exported.
    temporary_dir: str


class TraceSession:
    """Graph captures and profilers of all frameworks that the program has loaded.

    Args:
        graph: Capture graphs.
        profiler: Capture graphs and record profiles.
    """

    def __init__(self, *, graph: bool, profiler: bool) -> None:
        self.has_profile = profiler
        self._captures: dict[str, GraphCapture] = {}
        self._profilers: list[_RunningProfiler] = []
        self._graphs: dict[str, list[bytes]] = {}
        try:
            if graph or profiler:
                self._start_captures()
            if profiler:
                self._start_profilers()
        except BaseException:
            self.stop()
            self.discard()
            raise

    def stop(self) -> list[bytes]:
        """Stop capturing and return the serialized graphs."""
        for running in self._profilers:
            running.profiler.stop()
        while self._captures:
            framework, capture = self._captures.popitem()
            self._graphs[framework] = capture.stop()
        return [graph for graphs in self._graphs.values() for graph in graphs]

    def save_profiles(self, directory: str) -> None:
        """Copy the profiles to a run directory, except those of frameworks that ran nothing."""
        active = {framework for framework, graphs in self._graphs.items() if graphs}
        for running in self._profilers:
            if running.framework in active or not active:
                _copy_profiles(Path(running.temporary_dir), Path(directory), running.framework)

    def discard(self) -> None:
        """Delete the temporary files."""
        for running in self._profilers:
            shutil.rmtree(running.temporary_dir, ignore_errors=True)
        self._profilers = []

    def _start_captures(self) -> None:
        for framework in CAPTURE_CLASSES:
            if framework in sys.modules:
                capture = create_graph_capture(framework)
                capture.start()
                self._captures[framework] = capture
        if not self._captures:
            names = ", ".join(CAPTURE_CLASSES)
            warn_or_raise("graph", f"cannot be traced: none of {names} is imported")

    def _start_profilers(self) -> None:
        failures = []
        for framework in self._captures:
            profiler = create_profiler(framework)
            temporary_dir = tempfile.mkdtemp(prefix="tracklight-profile-")
            try:
                profiler.start(temporary_dir)
            except Exception as error:  # another part of the program may be profiling already
                failures.append(f"{type(error).__name__}: {error}")
                shutil.rmtree(temporary_dir, ignore_errors=True)
            else:
                self._profilers.append(_RunningProfiler(framework, profiler, temporary_dir))
        if failures and not self._profilers:
            warn_or_raise("profiler", f"could not be started: {'; '.join(failures)}")


def _copy_profiles(source: Path, run_dir: Path, framework: str) -> None:
    for session in (source / PROFILE_DIR).glob("*"):
        target = run_dir / PROFILE_DIR / session.name
        if target.exists():  # of another framework, recorded within the same second
            target = target.with_name(f"{session.name}_{framework}")
        shutil.copytree(session, target, dirs_exist_ok=True)


_lock = threading.Lock()
_session: TraceSession | None = None
_profiler_outdir: str | None = None


def trace_on(
    graph: bool = True,
    profiler: bool = False,
    profiler_outdir: str | os.PathLike[str] | None = None,
) -> bool:
    """Start tracing. There is one trace at a time.

    Args:
        graph: Trace the graphs of functions and modules.
        profiler: Record a profile of time and memory, and trace graphs.
        profiler_outdir: Directory of the run for the profile; can also be passed to `trace_export`.

    Returns:
        Whether the trace was started.

    Raises:
        UsageError: A trace is running, or the profiler could not be started. Only in strict mode;
            otherwise a warning is issued.

    Example:
        >>> tracklight.summary.trace_on(graph=True)
        True
    """
    global _session, _profiler_outdir
    with warnings.catch_errors("summary.trace_on()", strict=warnings.is_strict()), _lock:
        if _session is not None:
            raise ArgumentError(
                "graph", "is being traced already; call `trace_export` or `trace_off` first"
            )
        _session = TraceSession(graph=graph, profiler=profiler)
        _profiler_outdir = None if profiler_outdir is None else os.fspath(profiler_outdir)
        return True
    return False


def trace_export(
    name: str, step: int | None = None, profiler_outdir: str | os.PathLike[str] | None = None
) -> bool:
    """Stop tracing, log the graphs to the default writer and save the profile.

    Args:
        name: Tag of the graphs.
        step: Step of the graphs; by default the default step.
        profiler_outdir: Directory of the run for the profile; by default that of `trace_on`, or of
            the default writer.

    Returns:
        Whether the graphs were logged.

    Raises:
        UsageError: No trace is running. Only in strict mode; otherwise a warning is issued.

    Example:
        >>> with writer.as_default():
        ...     tracklight.summary.trace_export("train_step", step=0)
        True
    """
    writer = event_writer.find_active_writer()
    strict = warnings.is_strict() if writer is None else writer.strict
    with warnings.catch_errors(f"summary.trace_export({name!r:.100})", strict=strict):
        session, outdir = _end_session()
        if session is None:
            raise ArgumentError("name", "has no trace; call `trace_on` first")
        try:
            graphs = session.stop()
            directory = profiler_outdir or outdir or (writer.logdir if writer else None)
            if directory is not None:
                session.save_profiles(os.fspath(directory))
        finally:
            session.discard()
        return writer is not None and _log_graphs(name, step, graphs, session.has_profile)
    return False


def trace_off() -> None:
    """Stop tracing and discard the trace. Does nothing if no trace is running.

    Raises:
        UsageError: The profiler cannot be stopped and the writer is strict. Otherwise a warning is
            issued.

    Example:
        >>> tracklight.summary.trace_on(graph=False, profiler=True)
        >>> tracklight.summary.trace_off()
    """
    with warnings.catch_errors("summary.trace_off()", strict=warnings.is_strict()):
        session, _ = _end_session()
        if session is not None:
            session.stop()
            session.discard()


def build_function_graphs(
    tag: str, graphs: Sequence[bytes], *, has_profile: bool = False
) -> Message:
    """Build the value that holds the graphs of some functions.

    Args:
        tag: Tag of the value.
        graphs: Serialized GraphDef messages.
        has_profile: Whether a profile was recorded along with the graphs.
    """
    from tracklight.formats import proto
    from tracklight.writer.values import build_graph_value

    functions = [proto.FunctionGraphs(pre_optimization_graph=graph) for graph in graphs]
    metadata = proto.RunMetadata(function_graphs=functions)
    plugin = "graph_run_metadata" if has_profile else "graph_run_metadata_graph"
    return build_graph_value(tag, plugin, metadata.SerializeToString())


def _end_session() -> tuple[TraceSession | None, str | None]:
    global _session, _profiler_outdir
    with _lock:
        session, outdir = _session, _profiler_outdir
        _session = _profiler_outdir = None
        return session, outdir


def _log_graphs(name: str, step: object, graphs: list[bytes], has_profile: bool) -> bool:
    from tracklight.writer import as_step, as_tag
    from tracklight.writer.warnings import add_name_scope

    writer = event_writer.find_active_writer()
    assert writer is not None
    step_number = as_step(event_writer.step.get() if step is None else step)
    if not graphs:
        warn_or_raise("name", "has an empty trace: no compiled function ran while tracing was on")
    tag = add_name_scope(as_tag(name))
    return writer.add([build_function_graphs(tag, graphs, has_profile=has_profile)], step_number)
