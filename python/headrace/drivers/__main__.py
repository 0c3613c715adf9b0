"""`headrace run PLAN --engine ray|slurm` ends up here."""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
from pathlib import Path
from typing import Any, TextIO

from ..errors import Error
from .dispatch import Engine, Progress
from .program import CODES, program
from .run import run_with

_EXIT_CODES = {name: code for code, name in CODES.items()}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="headrace run --engine", description="Run a plan's tasks on other machines."
    )
    parser.add_argument("engine", choices=["ray", "slurm"])
    parser.add_argument("plan", help="a place that all machines see")
    parser.add_argument("--json", action="store_true", help="say what came of it as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--threads", type=int, default=1, help="of a task (%(default)s)")
    parser.add_argument("--memory", help="of a task, at most (256MiB)")
    parser.add_argument("--algorithm", help="auto, gather or buckets (auto)")
    parser.add_argument("--scratch", help="a folder on every machine, for buckets")
    parser.add_argument("--no-fsync", action="store_true", help="do not wait for disks")
    parser.add_argument("--verify", action="store_true", help="tasks read back what they wrote")
    parser.add_argument("--replace", action="store_true", help="take another data set's place")
    ray = parser.add_argument_group("ray")
    ray.add_argument("--address", help="of the cluster (RAY_ADDRESS, or the one on this machine)")
    slurm = parser.add_argument_group("slurm")
    slurm.add_argument("--sbatch", action="append", default=[], help="an option for sbatch")
    slurm.add_argument("--folder", help="where tasks say how they ended; the nodes must share it")
    slurm.add_argument("--in-flight", type=int, default=1000, help="tasks queued (%(default)s)")
    slurm.add_argument("--poll", type=float, default=5.0, help="seconds between squeues")
    return parser.parse_args()


def _task_options(args: argparse.Namespace) -> list[str]:
    options = [f"--threads={args.threads}"]
    options += [f"--memory={args.memory}"] if args.memory else []
    options += [f"--algorithm={args.algorithm}"] if args.algorithm else []
    options += [f"--scratch={args.scratch}"] if args.scratch else []
    options += ["--no-fsync"] if args.no_fsync else []
    return options + (["--replace"] if args.replace else [])


def _make_engine(args: argparse.Namespace, digest: str) -> Engine:
    options = _task_options(args) + (["--verify"] if args.verify else [])
    if args.engine == "ray":
        from .ray_engine import RayEngine

        return RayEngine(args.plan, options, cpus=args.threads, address=args.address)
    from .slurm_engine import SlurmEngine

    return SlurmEngine(
        args.plan,
        options,
        folder=_folder(args, digest),
        program=program(),
        sbatch=[f"--cpus-per-task={args.threads}", *args.sbatch],
        limit=args.in_flight,
        poll=args.poll,
    )


def _folder(args: argparse.Namespace, digest: str) -> Path:
    return Path(args.folder or f"headrace-slurm-{digest[:16]}")


def _show(progress: Progress) -> None:
    print(
        f"\r{progress.finished} of {progress.tasks} tasks, {progress.running} under way, "
        f"{progress.retries} tried again ",
        end="",
        file=sys.stderr,
        flush=True,
    )


def main() -> int:
    args = _arguments()
    if "://" not in args.plan:
        args.plan = str(Path(args.plan).resolve())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))  # what is under way is cancelled
    shows = sys.stderr.isatty() and not args.quiet
    # Standard output is for the answer alone; Ray prints what becomes of its nodes, at any time.
    answer, sys.stdout = sys.stdout, sys.stderr
    try:
        report = run_with(
            lambda digest: _make_engine(args, digest),
            args.plan,
            _task_options(args),
            _show if shows else lambda _: None,
        )
    except Error as error:
        _tell(error, answer if args.json else None)
        return _EXIT_CODES.get(error.code, 1)
    except KeyboardInterrupt:
        return 130
    if shows:
        print(file=sys.stderr)
    if args.engine == "slurm":
        shutil.rmtree(_folder(args, report["plan"]), ignore_errors=True)
    if args.json:
        print(json.dumps(report), file=answer)
    elif not args.quiet:
        print(f"wrote {report['samples']} samples to {report['out']}", file=sys.stderr)
    return 0


def _tell(error: Error, answer: TextIO | None) -> None:
    """As JSON on `answer`, else for people."""
    if answer:
        told: dict[str, Any] = {"code": error.code, "message": error.message}
        told |= {"hint": error.hint} if error.hint else {}
        print(json.dumps({"error": told}), file=answer)
    else:
        print(f"error: {error}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
