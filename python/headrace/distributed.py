"""Which rank this process is, and the check that all ranks want the same.

torch is never imported here: where it matters, the program has imported it already.
"""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

from .errors import UsageError


class Place(NamedTuple):
    """The place of this process among those that share the data."""

    rank: int
    world: int
    group: Any
    """A torch process group to compare options over; None: no comparison."""


_ALONE = Place(0, 1, None)


def resolve(rank: int | None, world: int | None, group: Any, mesh: Any) -> Place:
    """From the arguments, else torch.distributed, else RANK and WORLD_SIZE, else Slurm."""
    if (rank is None) != (world is None):
        raise UsageError("rank and world are given together, or none of them")
    if sum(x is not None for x in (rank, group, mesh)) > 1:
        raise UsageError("give one of rank and world, group, or mesh")
    if rank is not None and world is not None:
        return _checked(rank, world, None, "the arguments")
    if mesh is not None:
        return _from_mesh(mesh)
    dist = _torch_distributed()
    if group is not None:
        if dist is None:
            raise UsageError("group= needs torch.distributed to be initialised")
        return _from_group(dist, group)
    if dist is not None:
        return _from_group(dist, dist.group.WORLD)
    for rank_name, world_name in (("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS")):
        if rank_name in os.environ and world_name in os.environ:
            return _checked(
                _number(rank_name), _number(world_name), None, f"{rank_name} and {world_name}"
            )
    return _ALONE


def check_agreement(place: Place, digest: str) -> None:
    """Compares the digests of all ranks; a rank that differs from rank 0 is named on all of them.

    Raises:
        UsageError: some ranks have other data or other options.
    """
    dist = _torch_distributed()
    if place.group is None or place.world == 1 or dist is None:
        return
    digests: list[Any] = [None] * place.world
    dist.all_gather_object(digests, digest, group=place.group)
    different = [rank for rank, other in enumerate(digests) if other != digests[0]]
    if different:
        raise UsageError(
            f"rank {', '.join(map(str, different))} loads other data or has other options "
            "than rank 0",
            hint="Open the same data set with the same options on all ranks.",
        )


def _torch_distributed() -> Any:
    dist = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available() and dist.is_initialized():
        return dist
    return None


def _from_group(dist: Any, group: Any) -> Place:
    rank = dist.get_rank(group)
    if rank < 0:
        raise UsageError("this process is not in the process group that was given")
    return Place(rank, dist.get_world_size(group), group)


def _from_mesh(mesh: Any) -> Place:
    if mesh.ndim != 1:
        raise UsageError(
            f"the mesh has {mesh.ndim} dimensions",
            hint="Give the data-parallel one, as mesh['dp'].",
        )
    return Place(mesh.get_local_rank(), mesh.size(), mesh.get_group())


def _number(name: str) -> int:
    try:
        return int(os.environ[name])
    except ValueError:
        raise UsageError(f"{name}={os.environ[name]!r} in the environment is no number") from None


def _checked(rank: int, world: int, group: Any, source: str) -> Place:
    if world < 1 or not 0 <= rank < world:
        raise UsageError(f"rank {rank} of {world} from {source} makes no sense")
    return Place(int(rank), int(world), group)
