"""The audit: proof, afterwards, that every sample came exactly once an epoch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import _native
from .dataset import Dataset


class AuditReport(dict[str, Any]):
    """What an audit found: a JSON-able dict with a few shortcuts. `str(report)` is for people."""

    @property
    def passed(self) -> bool:
        """No sample missing, doubled or changed in the epochs that are complete; the last epoch,
        which may still run, may miss samples but not double them."""
        return bool(self["passed"])

    @property
    def epochs(self) -> list[dict[str, Any]]:
        """For each epoch: delivered, padded, missing, duplicates, and examples of what is wrong."""
        return list(self["epochs"])

    def __str__(self) -> str:
        return str(self["text"])


def audit_report(
    folders: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], dataset: Dataset
) -> AuditReport:
    """Checks what loaders with `audit=folder` delivered, over all ranks, workers and restarts.

    Raises:
        NotFoundError: a folder is not there.

    Example:
        >>> hr.audit_report("audit/", hr.open("shards/")).passed
        True
    """
    places = [folders] if isinstance(folders, (str, os.PathLike)) else list(folders)
    return AuditReport(_native.check_audit([os.fspath(place) for place in places], dataset._native))
