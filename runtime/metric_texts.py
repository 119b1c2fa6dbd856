"""The text of a scrape, in the format that its `Accept` header asks for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString

_UNKNOWN_VERSION = re.compile(r"\bversion=(?!(?:0\.0\.1|0\.0\.4|1\.0\.0)\s*(?:;|$))")
_OTHER_ESCAPING = re.compile(r"\bescaping=(?!underscores|allow-utf-8)")
_number: Callable[[float], str] = floatToGoString
_PLAIN_TYPES = frozenset({"counter", "gauge"})


def encoder(accept: Sequence[str]) -> tuple[Callable[[Collector], bytes], str]:
    """Return what writes the families of a collector in the format that `Accept` headers ask for, and its content type.

    The text is that of prometheus_client, which looks at each character of each name of each sample.
    Gauges and counters are written here, in a quarter of the time. The rest is left to it.
    """
    encode, content_type = choose_encoder(_known_formats(accept))
    if _OTHER_ESCAPING.search(content_type):  # it may change names that are well-formed
        return encode, content_type
    return lambda collector: _encoded(collector, encode), content_type


def _known_formats(accept: Sequence[str]) -> str:
    """Return the media ranges of `Accept` headers as one header, without those that name an unknown version.

    prometheus_client compares what follows `version=` with numbers, and repeats it in its answer.
    """
    ranges = ",".join(accept).split(",")
    return ",".join(one for one in ranges if not _UNKNOWN_VERSION.search(one))


class _Families(Collector):
    def __init__(self, *families: Metric) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        return iter(self._families)


class _Escaped(dict[str, str]):
    """Values of labels as they are written: most stand in many samples."""

    def __missing__(self, value: str) -> str:
        self[value] = value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
        return self[value]


def _encoded(collector: Collector, encode: Callable[[Collector], bytes]) -> bytes:
    escaped = _Escaped()
    end = encode(_Families())
    texts = []
    for family in collector.collect():
        if family.type not in _PLAIN_TYPES or any(map(_is_odd, family.samples)):
            texts.append(encode(_Families(family)).removesuffix(end))
            continue
        empty = Metric(family.name, family.documentation, family.type, family.unit)
        texts += [encode(_Families(empty)).removesuffix(end), "".join(_lines(family, escaped)).encode()]
    return b"".join([*texts, end])


def _is_odd(sample: Sample) -> bool:
    """Whether more than name, labels and value is written of it, or it is not written where it stands."""
    return (
        sample.exemplar is not None
        or sample.timestamp is not None
        or sample.native_histogram is not None
        or sample.name.endswith(("_created", "_gsum", "_gcount"))
    )


def _lines(family: Metric, escaped: _Escaped) -> Iterator[str]:
    names: list[str] = []
    line = ""
    for sample in family.samples:
        labels = sample.labels
        if not line or labels.keys() != set(names):
            names = sorted(labels)
            joined = ",".join(f'{name}="%s"' for name in names)
            line = f"{sample.name}{{{joined}}} %s\n" if names else f"{sample.name} %s\n"
        yield line % (*[escaped[labels[name]] for name in names], _number(sample.value))
