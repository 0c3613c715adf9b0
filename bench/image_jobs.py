"""The jobs about pictures: from compressed files to a normalised batch."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from inputs import SIDES
from jobs import Bench, all_files
from programs import program
from rounds import Contender, Goal, Table, python, take_turns

MB = 10**6


def decoding_limit(bench: Bench, settings: str, part: str) -> Contender:
    """libjpeg-turbo alone."""
    photos = "\n".join(map(str, all_files(bench.inputs.photos)[::4]))

    def measure() -> float:
        command = (program("jpeg_limit"), bench.threads, settings, part, bench.seconds)
        done = subprocess.run(
            list(map(str, command)), input=photos, capture_output=True, text=True, check=True
        )
        return float(done.stdout.split()[0])

    return Contender(
        f"limit: libjpeg-turbo decodes the {part} box alone, {settings} settings",
        measure,
        kind="limit",
        note=f"{bench.threads} threads; into one hot buffer each",
    )


# (module, name, reader, note)
Peer = tuple[str, str, str, str]


def installed(*peers: Peer) -> list[Peer]:
    """The others are named aloud."""
    there = []
    for peer in peers:
        module, name, _, _ = peer
        if importlib.util.find_spec(module) is not None:
            there.append(peer)
        else:
            print(f"SKIPPED: {name}: {module} is not installed", file=sys.stderr)
    return there


def peers(bench: Bench, *names: Peer) -> list[Contender]:
    place = bench.inputs.photo_shards
    return [
        bench.reader(name, reader, place, note=note) for _, name, reader, note in installed(*names)
    ]


def goals(table: Table, wanted: dict[str, float]) -> list[Goal]:
    """Times each of the contenders that took part; the limit is the first one."""
    limit = Goal("share of the limit", table.times_faster(table.contenders[0]), 0.85)
    names = {each.name for each in table.contenders}
    found = [(name, times) for name, times in wanted.items() if name in names]
    return [limit, *(Goal(f"times {name}", table.times_faster(name), x) for name, x in found)]


MLX = ("mlx", "mlx-data", "mlx_images", "uint8, not normalised; scaling not antialiased")
DALI = ("nvidia", "DALI on the processor", "dali_images", "")
PEERS = (
    MLX,
    DALI,
    ("spdl", "SPDL", "spdl_images", "scaling not antialiased"),
    (
        "torchvision",
        "torchvision v2, its own decoder",
        "torchvision_images",
        "WebDataset, 2 workers",
    ),
    ("torchvision", "Pillow with torchvision", "pillow_images", "WebDataset, 2 workers"),
)


def images(bench: Bench) -> list[Table]:
    return [exact(bench), fast(bench), types(bench), validation(bench), *one_core(bench)]


def exact(bench: Bench) -> Table:
    title = "Photographs, random resized crop 224, flip, normalised float32; exact decoding"
    ours = bench.reader(
        f"Headrace, {bench.threads} threads",
        "headrace_images",
        bench.inputs.photo_shards,
        kind="ours",
    )
    limit = decoding_limit(bench, "default", "random")
    table = Table("images", title, "photos/s", [limit, ours, *peers(bench, *PEERS)])
    take_turns(table.contenders, bench.rounds)
    table.goals = goals(
        table,
        {
            "mlx-data": 1.3,
            "DALI on the processor": 2.1,
            "torchvision v2, its own decoder": 2.8,
            "Pillow with torchvision": 4,
        },
    )
    table.goals.append(memory_goal(bench, "headrace_images", 650))
    return table


def fast(bench: Bench) -> Table:
    title = 'The same with decode="fast"'
    place = bench.inputs.photo_shards
    ours = bench.reader("Headrace, fast", "headrace_images_fast", place, kind="ours")
    limit = decoding_limit(bench, "fast", "random")
    table = Table("images_fast", title, "photos/s", [limit, ours, *peers(bench, MLX)])
    take_turns(table.contenders, bench.rounds)
    table.goals = goals(table, {"mlx-data": 1.4})
    return table


def types(bench: Bench) -> Table:
    place = bench.inputs.photo_shards
    title = "What float32 costs: the same photographs, exact decoding"
    table = Table(
        "images_types",
        title,
        "photos/s",
        [
            bench.reader("Headrace, float32", "headrace_images", place, kind="ours"),
            bench.reader("Headrace, uint8", "headrace_images_uint8", place),
        ],
    )
    take_turns(table.contenders, bench.rounds)
    share = table.times_faster("Headrace, uint8")
    table.goals = [
        Goal("share of uint8", share, 0.9),
        memory_goal(bench, "headrace_images_uint8", 400),
    ]
    return table


def validation(bench: Bench) -> Table:
    title = "Validation: shorter side 256, center crop 224, normalised float32; exact decoding"
    place = bench.inputs.photo_shards
    ours = bench.reader("Headrace", "headrace_images_validation", place, kind="ours")
    mlx = ("mlx", "mlx-data", "mlx_images_validation", MLX[3])
    limit = decoding_limit(bench, "default", "center")
    table = Table("images_validation", title, "photos/s", [limit, ours, *peers(bench, mlx)])
    take_turns(table.contenders, bench.rounds)
    table.goals = goals(table, {"mlx-data": 1.3})
    return table


def one_core(bench: Bench) -> list[Table]:
    tables = [
        one_core_table(bench, kind, f"{kind.upper()} of 500 x 375", bench.inputs.pictures(kind))
        for kind in ("png", "webp")
    ]
    if not bench.inputs.stamps.is_dir():
        print("SKIPPED: the stamps: `./dev demo` brings them", file=sys.stderr)
        return tables
    what = "PNG drawings with alpha (the stamps)"
    return [*tables, one_core_table(bench, "stamps", what, bench.inputs.stamps)]


def one_core_table(bench: Bench, kind: str, what: str, place: Path) -> Table:
    seconds = max(bench.seconds, 4)  # a batch takes 0.7 s here, and the first ones have new memory
    alone = Bench(bench.inputs, bench.io_limit, bench.rounds, seconds, threads=1)
    table = Table(
        f"images_{kind}",
        f"{what}, the training recipe, one core",
        "pictures/s",
        [
            alone.reader("Headrace, 1 thread", "headrace_images", place, kind="ours"),
            alone.reader("Pillow with torchvision", "pillow_images_one_core", place),
        ],
    )
    take_turns(table.contenders, bench.rounds)
    times = table.times_faster("Pillow with torchvision")
    table.goals = [Goal("times Pillow with torchvision", times, 1.5)]
    return table


def memory_goal(bench: Bench, reader: str, most: float) -> Goal:
    peak = bench.memory[reader].peak_rss / MB
    return Goal('MB at the peak of our process, memory="256MiB"', peak, most, at_most=True)


FIRST_IMPORTS = {"mlx": "mlx.data", "nvidia": "nvidia.dali.plugin.pytorch"}


def first_images(bench: Bench) -> list[Table]:
    """From making the loader to the first batch, beside the decoding of as many alone."""
    place = bench.inputs.photo_shards
    limit = decoding_limit(bench, "default", "random")
    batch_bytes = 256 * 3 * 224 * 224 * 4

    def memory_at_hand() -> float:
        return python("memory_at_hand.py", batch_bytes)["small"] * 1000

    def first(reader: str, *modules: str) -> Callable[[], float]:
        def measure() -> float:
            memory_at_hand()
            script = ("first_image_process.py", reader, place, bench.threads, *modules)
            return python(*script)["first"] * 1000

        return measure

    table = Table(
        "images_first",
        "From making the loader to the first decoded batch of 256 photographs",
        "ms",
        [
            Contender(
                "limit: libjpeg-turbo decodes 256 boxes alone",
                lambda: 256_000 / limit.measure(),
                kind="limit",
            ),
            Contender(
                "limit: first use of a float32 batch's memory, small pages",
                memory_at_hand,
                kind="limit",
                note="one thread",
            ),
            Contender("Headrace, float32", first("headrace_images", "headrace._native"), "ours"),
            Contender("Headrace, uint8", first("headrace_images_uint8", "headrace._native")),
            *(
                Contender(name, first(reader, FIRST_IMPORTS[module]), note=note)
                for module, name, reader, note in installed(MLX, DALI)
            ),
        ],
        less_is_better=True,
    )
    take_turns(table.contenders, bench.rounds)
    alone = table.contenders[0].median
    table.goals = [Goal("milliseconds", table.ours.median, 1.3 * alone + 50, at_most=True)]
    return [table]


def images_factor(bench: Bench) -> list[Table]:
    """What makes batches of photographs faster: each alone, and beside the usual."""
    photos = bench.inputs.photo_shards
    alone = Bench(bench.inputs, bench.io_limit, bench.rounds, bench.seconds, threads=1)
    table = Table(
        "images_factor",
        "The last factor: photographs to normalised float32 batches of 224 x 224",
        "photos/s",
        [
            bench.reader("as they are, exact, 2 threads", "headrace_images", photos, kind="ours"),
            alone.reader("1 thread", "headrace_images", photos),
            bench.reader('decode="fast"', "headrace_images_fast", photos),
            bench.reader("a random crop, not scaled", "headrace_images_without_scaling", photos),
            *(
                bench.reader(
                    f'packed with --image "max-side={side}, quality=90"',
                    "headrace_images",
                    bench.inputs.smaller(side),
                )
                for side in SIDES
            ),
        ],
    )
    take_turns(table.contenders, bench.rounds)
    return [table]


IMAGE_JOBS: dict[str, Callable[[Bench], list[Table]]] = {
    job.__name__: job for job in (images, images_factor, first_images)
}
