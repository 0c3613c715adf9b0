"""A real Slurm cluster on this host: a controller and a few nodes, from Debian's packages
(slurmctld slurmd slurm-client munge). Needs root, as the real one does.

    with slurm(folder, nodes=3) as cluster:
        subprocess.run(["sbatch", ...], env=cluster.env)
        cluster.kill("n1")
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

_CONFIG = """
ClusterName=headrace
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SelectType=select/cons_tres
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
ReturnToService=2
SlurmdTimeout={timeout}
JobRequeue=1
KillWait=2
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@dataclass
class Slurm:
    folder: Path
    env: dict[str, str]
    nodes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def kill(self, node: str) -> None:
        """The node's daemon and everything that runs on it, as when its power fails."""
        daemon = self.nodes.pop(node)
        daemon.kill()
        daemon.wait()
        for process in _running_on(node, self.env["SLURM_CONF"]):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def start(self, node: str) -> None:
        self.nodes[node] = subprocess.Popen(
            ["/usr/sbin/slurmd", "-D", "-N", node],
            env=self.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def ask(self, *command: str) -> str:
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=30)
        return done.stdout


def _running_on(node: str, config: str) -> set[int]:
    """The processes of jobs on a node, and the daemon above each, which is nobody's child."""
    found = set()
    wanted = {f"SLURMD_NODENAME={node}".encode(), f"SLURM_CONF={config}".encode()}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if not wanted <= set((folder / "environ").read_bytes().split(b"\0")):
                continue
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            found.add(int(folder.name))
            if Path(f"/proc/{parent}/cmdline").read_bytes().startswith(b"slurmstepd"):
                found.add(parent)
    return found


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def _until(happened, what: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


@contextlib.contextmanager
def slurm(folder: Path, nodes: int, timeout: int = 10) -> Iterator[Slurm]:
    """Nodes n1, n2, … of one processor each. `timeout`: seconds after which a node is down."""
    programs = ("/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/sbin/munged", "/usr/bin/sbatch")
    if not all(map(os.path.exists, programs)):
        pytest.skip("Slurm is not installed: NOT TESTED")
    if os.geteuid() != 0:
        pytest.skip("a Slurm cluster needs root: NOT TESTED")
    folder.mkdir(parents=True)
    (folder / "state").mkdir()
    host, ports = socket.gethostname().split(".")[0], _free_ports(nodes + 1)
    lines = []
    for number in range(1, nodes + 1):
        (folder / f"spool-n{number}").mkdir()
        address = f"NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[number]}"
        lines.append(f"NodeName=n{number} {address} CPUs=1 State=UNKNOWN")
    config = folder / "slurm.conf"
    text = _CONFIG.format(
        host=host, folder=folder, ports=ports, timeout=timeout, nodes="\n".join(lines)
    )
    config.write_text(text)
    cluster = Slurm(folder, {**os.environ, "SLURM_CONF": str(config)})
    with contextlib.ExitStack() as stack:
        stack.enter_context(_munged(folder))
        stack.enter_context(_controller(cluster))
        stack.callback(lambda: [cluster.kill(node) for node in list(cluster.nodes)])
        for number in range(1, nodes + 1):
            cluster.start(f"n{number}")
        log = folder / "slurmctld.log"
        _until(
            lambda: cluster.ask("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == str(nodes),
            f"the nodes do not come: {log.read_text()[-3000:] if log.exists() else ''}",
        )
        yield cluster


@contextlib.contextmanager
def _munged(folder: Path) -> Iterator[None]:
    """Slurm's authentication, with a key and a socket of its own."""
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    command = ["/usr/sbin/munged", "-F", "--force", f"--key-file={key}"]
    command += [f"--socket={folder}/munge.socket", f"--pid-file={folder}/munge.pid"]
    command += [f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as daemon:
        _until((folder / "munge.socket").exists, "munged does not start")
        try:
            yield
        finally:
            daemon.terminate()


@contextlib.contextmanager
def _controller(cluster: Slurm) -> Iterator[None]:
    command = ["/usr/sbin/slurmctld", "-D", "-i"]
    with subprocess.Popen(
        command, env=cluster.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as daemon:
        try:
            yield
        finally:
            daemon.terminate()
