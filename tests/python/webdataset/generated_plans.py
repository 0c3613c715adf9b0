"""Random pipelines, drawn from a seed: a source with its arguments, then stages with theirs.

Not all of them make sense: missing keys, stages that do not fit what flows, damaged shards. What a
pipeline does is described without a library, and built with either.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from generated_shards import BAD, GOOD

# --- What users write ----------------------------------------------------------------------------


def count_fields(sample: Any) -> Any:
    return {**sample, "count": len(sample)}


def drop_some(sample: Any) -> Any:
    return None if sum(map(ord, str(sample["__key__"]))) % 3 == 0 else sample


def fail_some(sample: Any) -> Any:
    if sum(map(ord, str(sample["__key__"]))) % 4 == 0:
        raise KeyError("the user's own")
    return sample


def bare(sample: Any) -> Any:
    return {"cls": sample.get("cls"), "length": len(sample)}


def not_a_dict(sample: Any) -> Any:
    return len(sample)


def second_half(sample: Any) -> bool:
    return "5" in str(sample["__key__"]) or "7" in str(sample["__key__"])


def doubled(value: Any) -> Any:
    return value + value


def kind_of(value: Any) -> str:
    return type(value).__name__


def pairs(source: Iterator[Any]) -> Iterator[Any]:
    for item in source:
        yield item
        yield dict(item) if isinstance(item, dict) else item


def custom_png(key: str, data: bytes) -> Any:
    return len(data) if key.endswith(".png") else None


def len_of(stream: Any) -> int:
    return len(stream.read())


def no_text(name: str) -> bool:
    return not name.endswith(".txt")


def renamed(name: str) -> str:
    return name.replace("s0", "t/0").replace("json", "jsn")


def skip(error: Exception) -> bool:
    return True


def as_list(samples: Any, **options: Any) -> Any:
    return list(samples)


# --- Pipelines -----------------------------------------------------------------------------------


@dataclass
class Call:
    """library.name(*arguments), on the pipeline or as a function. "@x" stands for library.x."""

    name: str
    arguments: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    def on(self, target: Any, library: Any) -> Any:
        def resolve(value: Any) -> Any:
            if isinstance(value, str) and value.startswith("@"):
                return getattr(library, value[1:])
            return value

        options = {name: resolve(value) for name, value in self.options.items()}
        return getattr(target, self.name)(*map(resolve, self.arguments), **options)

    def __str__(self) -> str:
        options = [f"{name}={value!r}" for name, value in self.options.items()]
        return f"{self.name}({', '.join([*map(repr, self.arguments), *options])})"


@dataclass
class Plan:
    source: list[Call]  # one WebDataset, or the stages of a DataPipeline
    stages: list[Call]
    fluid: bool
    environment: dict[str, str]
    epochs: int
    ordered: bool = True
    reordered_later: bool = False  # by us, on purpose: another shard order in each epoch

    def build(self, library: Any) -> Any:
        if self.fluid:
            pipeline = self.source[0].on(library, library)
            for call in self.stages:
                pipeline = call.on(pipeline, library)
            return pipeline
        stages = [call.on(library, library) for call in (*self.source, *self.stages)]
        return library.DataPipeline(*stages)

    def __str__(self) -> str:
        form = " . " if self.fluid else " | "
        return f"{form.join(map(str, (*self.source, *self.stages)))}  {self.environment}"


HANDLERS = ["@reraise_exception", "@ignore_and_continue", "@ignore_and_stop", skip]


class Draw:
    """Draws a plan from a seed."""

    def __init__(self, seed: int, shards: dict[str, str]) -> None:
        self.rng = random.Random(seed)
        self.all_shards = shards

    def some(self, *values: Any) -> Any:
        return self.rng.choice(values)

    def maybe(self, chance: float = 0.5) -> bool:
        return self.rng.random() < chance

    def handler(self, chance: float = 0.3) -> dict[str, Any]:
        return {"handler": self.some(*HANDLERS)} if self.maybe(chance) else {}

    def plan(self) -> Plan:
        names = self.rng.sample(GOOD, self.rng.randint(1, len(GOOD)))
        if self.maybe(0.25):
            names.insert(self.rng.randint(0, len(names)), self.some(*BAD))
        urls: Any = [self.all_shards[name] for name in names]
        if self.maybe(0.2):
            urls = urls[0].replace(names[0], "p{0..3}.tar")
        elif self.maybe(0.2):
            urls = "::".join(urls)
        environment: dict[str, str] = {}
        if self.maybe(0.15):
            world = self.rng.randint(1, 3)
            environment = {"RANK": str(self.rng.randrange(world)), "WORLD_SIZE": str(world)}
        if self.maybe(0.15):
            workers = self.rng.randint(1, 3)
            environment |= {"WORKER": str(self.rng.randrange(workers)), "NUM_WORKERS": str(workers)}
        fluid = self.maybe(0.7)
        plan = Plan([], [], fluid, environment, self.some(1, 1, 2))
        plan.source = [self.web_dataset(urls, plan)] if fluid else self.explicit(urls, plan)
        self.stages(plan)
        return plan

    def web_dataset(self, urls: Any, plan: Plan) -> Call:
        options: dict[str, Any] = {"shardshuffle": False, **self.handler()}
        if self.maybe(0.3):
            options["shardshuffle"] = self.some(1, 2, 10)
            options["seed"] = self.rng.randrange(100)
            options["detshuffle"] = self.maybe()
            plan.reordered_later = True
        if self.maybe(0.5):
            options["nodesplitter"] = self.some("@split_by_node", None)
        if self.maybe(0.15):
            options["select_files"] = no_text
        if self.maybe(0.15):
            options["rename_files"] = renamed
        if self.maybe(0.3):
            options["empty_check"] = False
        if self.maybe(0.1):
            options["workersplitter"] = self.some("@split_by_worker", None)
        return Call("WebDataset", (urls,), options)

    def explicit(self, urls: Any, plan: Plan) -> list[Call]:
        first = Call("SimpleShardList", (urls,), {"seed": self.some(None, None, 5)})
        plan.reordered_later = first.options["seed"] is not None
        calls = [first]
        if self.maybe(0.3):
            calls.append(Call("detshuffle", (self.some(2, 10),), {"seed": self.rng.randrange(9)}))
            plan.reordered_later = True
        options = self.handler()
        if self.maybe(0.2):
            options["select_files"] = no_text
        calls.append(Call("tarfile_to_samples", (), options))
        return calls

    # Stages, by what flows: dictionaries, tuples, batches.

    def stages(self, plan: Plan) -> None:
        kind = "dict"
        for _ in range(self.rng.randint(0, 6)):
            call, kind = getattr(self, f"on_{kind}")(plan)
            plan.stages.append(call)
        if plan.fluid and self.maybe(0.15):
            call = self.some(
                Call("with_epoch", (self.rng.randint(1, 80),)),
                Call("repeat", (2,)),
                Call("repeat", (self.some(2, -1), self.rng.randint(1, 90))),
                Call("with_length", (7,), {"silent": True}),
            )
            # Over its end, ours goes on with another order of shards.
            plan.ordered &= not plan.reordered_later or call.name == "with_length"
            plan.stages.append(call)

    def anywhere(self, plan: Plan, kind: str) -> tuple[Call, str]:
        choice = self.some(0, 0, 1, 2, 4, *((5, 6) if plan.fluid else (3,)))
        if choice == 0:
            seeded = {"seed": self.rng.randrange(50)} if self.maybe(0.8) else {}
            plan.ordered &= bool(seeded)
            size, initial = self.some(1, 2, 7, 1000), self.some(1, 5, 100)
            return Call("shuffle", (size,), {"initial": initial, **seeded}), kind
        if choice == 1:
            return Call("slice", self.some((5,), (2, 9), (1, 40, 3), (0,), (2, None, 2))), kind
        if choice == 2:
            return Call("rsample", (self.some(0.0, 0.3, 1.0),)), kind
        if choice == 3:
            return Call("info", (), {"stream": io.StringIO(), "n": 1}), kind
        if choice == 4:
            size, collate = self.some(1, 3, 20), self.some(None, None, as_list, "default")
            options: dict[str, Any] = {"partial": self.maybe(0.7)}
            if collate != "default":
                options["collation_fn"] = collate
            return Call("batched", (size,), options), "list" if collate != "default" else "batch"
        if choice == 5:
            return Call("compose", (pairs,)), kind
        return self.some((Call("mcached"), kind), (Call("listed", (self.some(2, 5),)), "list"))

    def on_dict(self, plan: Plan) -> tuple[Call, str]:
        if self.maybe(0.3):
            return self.anywhere(plan, "dict")
        handler = self.handler()
        keys = self.some(("png;jpg", "cls"), ("cls",), ("txt;json", "json"), ("npy", "__key__"))
        keys = self.some(keys, keys, keys, ("__key__", "txt", "nope"))
        missing = {"missing_is_error": False} if self.maybe(0.3) else {}
        none = {"none_is_error": self.maybe()} if self.maybe(0.1) else {}
        return self.some(
            (Call("map", (self.some(count_fields, drop_some, fail_some, bare),), handler), "dict"),
            (Call("map", (not_a_dict,), handler), "list"),
            (Call("map", (count_fields,), handler), "dict"),
            (
                Call("map_dict", (), {self.some("cls", "cls", "json", "txt"): kind_of, **handler}),
                "dict",
            ),
            (Call("select", (second_half,)), "dict"),
            (self.rename(handler), "dict"),
            (self.rename_keys(), "dict"),
            (self.decode(handler), "dict"),
            (self.decode(handler), "dict"),
            (self.xdecode(), "dict"),
            (Call("to_tuple", keys, {**handler, **missing, **none}), "tuple"),
            (Call("to_tuple", ("__key__ cls",), handler), "tuple"),
            (self.extract(), "tuple"),
        )

    def rename(self, handler: dict[str, Any]) -> Call:
        new = self.some(
            {"image": "png;jpg"}, {"label": "cls", "t": "txt;json"}, {"cls": "json;nope"}
        )
        new = {"x": "nope"} if self.maybe(0.1) else new
        keep = {"keep": False} if self.maybe(0.3) else {}
        return Call("rename", (), {**new, **keep, **handler})

    def rename_keys(self) -> Call:
        rules = self.some(
            (("image", "png"),),
            (("a", "c*"), ("b", "b*")),
            (("x", "nope"), ("y", "*")),
            (("cls", "*n"), ("y", "t*"), ("t", "[tj]*")),
        )
        options = {
            name: self.maybe()
            for name in ("keep_unselected", "must_match", "duplicate_is_error")
            if self.maybe(0.4)
        }
        return Call("rename_keys", rules, options)

    def decode(self, handler: dict[str, Any]) -> Call:
        specs = ["l8", "rgb8", "rgba8", "l", "rgb", "rgba", "pil", "pill", "pilrgb", "pilrgba"]
        handlers = self.some(
            *[(), (self.some(*specs),), (custom_png, self.some(*specs))] * 4, ("no",)
        )
        options: dict[str, Any] = {}
        if self.maybe(0.2):
            options["only"] = self.some("cls", "cls json", ["png"])
        if self.maybe(0.2):
            options["partial"] = True
        if self.maybe(0.1):
            options[self.some("pre", "post")] = self.some([], [custom_png])
        return Call("decode", handlers, {**options, **handler})

    def xdecode(self) -> Call:
        rules = self.some((), (("*.png", len_of),), (("*", len_of),))
        more = self.some({}, {"json": json.load}, {"bin": False})
        return Call("xdecode", rules, {"must_decode": self.maybe(0.3), **more})

    def extract(self) -> Call:
        options = {
            name: self.maybe() for name in ("duplicate_is_error", "ignore_missing") if self.maybe()
        }
        patterns = self.some(
            (".cls", "*json"), ("cls",), ("*.png;*.jpg",), (".npy", "nope"), ("*n",)
        )
        return Call("extract_keys", patterns, options)

    def on_tuple(self, plan: Plan) -> tuple[Call, str]:
        if self.maybe(0.6):
            return self.anywhere(plan, "tuple")
        functions = self.some((kind_of,), (None, kind_of), (doubled,), (None, None, doubled))
        return Call("map_tuple", functions, self.handler()), "tuple"

    def on_batch(self, plan: Plan) -> tuple[Call, str]:
        if self.maybe(0.6):
            return Call("unbatched"), "list"
        return self.anywhere(plan, "batch")

    def on_list(self, plan: Plan) -> tuple[Call, str]:
        if plan.fluid and self.maybe(0.4):
            return Call("unlisted"), "list"
        return self.anywhere(plan, "list")
