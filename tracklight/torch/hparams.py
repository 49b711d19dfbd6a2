"""Hyperparameters in the form of ``torch.utils.tensorboard``: three values per session."""

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
    """Return the values of experiment, session start and session end, to be logged one by one.

    Raises:
        ArgumentError: An argument is not a dict, or a domain does not fit its hyperparameter.
    """
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
    infos = [_build_hparam_info(name, hparams[name], domains.get(name)) for name in hparams]
    names = [proto.MetricInfo(name=proto.MetricName(tag=tag.encode())) for tag in metrics]
    experiment = proto.Experiment(hparam_infos=infos, metric_infos=names)
    return _build_hparams_value(EXPERIMENT_TAG, proto.HParamsPluginData(experiment=experiment))


def build_session_start(hparams: Mapping[str, HParamValue]) -> Message:
    pairs = [
        proto.HParam(key=name.encode(), value=_build_hparam_value(value))
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


def _build_hparam_info(name: str, value: HParamValue, domain: list[HParamValue] | None) -> Message:
    hparam_type = HParamType.STRING if isinstance(value, str) else HParamType.FLOAT64
    info = proto.HParamInfo(name=name.encode(), type=hparam_type)
    if domain is not None:
        info.domain_discrete.values.extend(map(_build_hparam_value, domain))
    return info


def _build_hparam_value(value: HParamValue) -> Message:
    if isinstance(value, str):
        return proto.HParamValue(string_value=value.encode("utf-8", "replace"))
    # Bools as well: PyTorch tests for numbers first, and bool is a subclass of int.
    return proto.HParamValue(number_value=float(value))


def _check_mapping(argument: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ArgumentError(argument, f"must be a dict, not a {type(value).__name__}")
    return value


def _check_domains(
    domains: Mapping[str, Any] | None, values: Mapping[str, HParamValue]
) -> dict[str, list[HParamValue]]:
    checked = {}
    for name, domain in _check_mapping("hparam_domain_discrete", domains or {}).items():
        value_type = type(values.get(name))
        if not isinstance(domain, list) or not all(isinstance(item, value_type) for item in domain):
            expected = f'a list of {value_type.__name__} for "{name}", the type in hparam_dict'
            raise ArgumentError("hparam_domain_discrete", f"must contain {expected}")
        checked[name] = domain
    return checked
