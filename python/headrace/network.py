"""What this process asked of remote stores."""

from __future__ import annotations

from typing import NamedTuple

from . import _native


class HostStats(NamedTuple):
    """Of one host, since this process first asked it."""

    requests: int  #: attempts that were sent
    retries: int
    hedges: int  #: second requests beside slow ones
    redirects: int
    throttled: int  #: answers 429 and 503
    bytes_needed: int  #: of bodies that were delivered
    bytes_asked: int  #: of bodies that came over the wire
    first_byte_seconds: float  #: from sending to the first byte, summed over answers
    depth: int  #: requests of 1 MiB or more at once that fill the link, as found so far


def network_stats() -> dict[str, HostStats]:
    """By origin, as "https://host:port". Empty if nothing remote was opened.

    Example:
        >>> for host, stats in hr.network_stats().items():
        ...     print(host, stats.requests, stats.bytes_asked / max(stats.bytes_needed, 1))
    """
    return {host: HostStats(**counted) for host, counted in _native.network_counters().items()}
