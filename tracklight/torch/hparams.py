"""Hyperparameters as ``torch.utils.tensorboard`` logs them: all of a session in three values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracklight.formats import proto
from tracklight.formats.hparams import (
    EXPERIMENT_TAG,
    SESSION_END_TAG,
    SESSION_START_TAG,
    HParamType,
    HParamValue,
    Status,
    iter_flattened,
)
from tracklight.formats.proto import Message
from tracklight.hparams.session import as_hparam_value
from tracklight.torch.summary_values import build_metadata
from tracklight.writer.warnings import ArgumentError


def build_session(
    hparams: Mapping[str, Any], metrics: Mapping[str, Any], domains: Mapping[str, Any] | None
) -> list[Message]:
    """Values of an experiment, the start and the end of a session; one event each."""
    values = {
        name: as_hparam_value(name, value)
        for name, value in iter_flattened(_check_mapping("hparam_dict", hparams))
        if value is not None
    }
    tags = list(map(str, _check_mapping("metric_dict", metrics)))
    discrete = _check_domains(domains, values)
    return [
        build_experiment(values, tags, discrete),
        build_session_start(values),
        build_session_end(Status.SUCCESS),
    ]


def build_experiment(
    hparams: Mapping[str, HParamValue],
    metrics: list[str],
    domains: Mapping[str, list[HParamValue]],
) -> Message:
    infos = [_build_info(name, hparams[name], domains.get(name)) for name in hparams]
    names = [proto.MetricInfo(name=proto.MetricName(tag=tag.encode())) for tag in metrics]
    experiment = proto.Experiment(hparam_infos=infos, metric_infos=names)
    return _build_hparams_value(EXPERIMENT_TAG, proto.HParamsPluginData(experiment=experiment))


def build_session_start(hparams: Mapping[str, HParamValue]) -> Message:
    pairs = [
        proto.HParam(key=name.encode(), value=_build_value(value))
        for name, value in hparams.items()
    ]
    start = proto.SessionStartInfo(hparams=pairs)
    return _build_hparams_value(
        SESSION_START_TAG, proto.HParamsPluginData(session_start_info=start)
    )


def build_session_end(status: Status) -> Message:
    end = proto.SessionEndInfo(status=status)
    return _build_hparams_value(SESSION_END_TAG, proto.HParamsPluginData(session_end_info=end))


def _build_hparams_value(tag: str, content: Message) -> Message:
    return proto.Value(tag=tag.encode(), metadata=build_metadata("hparams", content))


def _build_info(name: str, value: HParamValue, domain: list[HParamValue] | None) -> Message:
    kind = HParamType.STRING if isinstance(value, str) else HParamType.FLOAT64
    info = proto.HParamInfo(name=name.encode(), type=kind)
    if domain is not None:
        info.domain_discrete.values.extend(map(_build_value, domain))
    return info


def _build_value(value: HParamValue) -> Message:
    if isinstance(value, str):
        return proto.HParamValue(string_value=value.encode("utf-8", "replace"))
    # A bool as well: it is a kind of int, and PyTorch asks for those first.
    return proto.HParamValue(number_value=float(value))


def _check_mapping(argument: str, given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise ArgumentError(argument, f"must be a dict, not a {type(given).__name__}")
    return given


def _check_domains(
    domains: Mapping[str, Any] | None, values: Mapping[str, HParamValue]
) -> dict[str, list[HParamValue]]:
    checked = {}
    for name, domain in _check_mapping("hparam_domain_discrete", domains or {}).items():
        kind = type(values.get(name))
        if not isinstance(domain, list) or not all(isinstance(item, kind) for item in domain):
            must = f'must have a list of {kind.__name__} for "{name}", as in hparam_dict'
            raise ArgumentError("hparam_domain_discrete", must)
        checked[name] = domain
    return checked
