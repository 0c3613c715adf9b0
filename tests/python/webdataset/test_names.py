"""Every public name of the real package and of its modules is here, with the same parameters."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import types
from typing import Any

import headrace.webdataset as ours
import pytest
from small_archives import write

real = pytest.importorskip("webdataset", reason="webdataset is not installed: NOT TESTED")

#: What the real package has and we do not, or have otherwise, and why.
EXCEPTIONS = {
    "typecheck": "has typeguard check the real package's own annotations; nothing to import",
    "gopen:PIPE": "imported there from subprocess",
}

#: All of its modules, as they lie in its folder.
MODULES = sorted(
    module.name for module in pkgutil.iter_modules(real.__path__) if module.name not in EXCEPTIONS
)

#: Of every Python class, or of torch's.
NOT_ITS_OWN = {
    *("__doc__", "__module__", "__dict__", "__weakref__", "__annotations__", "__init__"),
    *("__parameters__", "__abstractmethods__", "__firstlineno__", "__static_attributes__"),
    "_abc_impl",
}

#: What the documentation of 1.0.2 and widely used training code call by name.
DOCUMENTED = """
    WebDataset WebDataset.compose WebDataset.append WebDataset.stage WebDataset.close
    WebDataset.with_length WebDataset.with_epoch WebDataset.repeat WebDataset.__enter__
    WebDataset.shuffle WebDataset.decode WebDataset.xdecode WebDataset.map WebDataset.map_dict
    WebDataset.map_tuple WebDataset.to_tuple WebDataset.rename WebDataset.rename_keys
    WebDataset.extract_keys WebDataset.select WebDataset.rsample WebDataset.slice
    WebDataset.batched WebDataset.unbatched WebDataset.listed WebDataset.unlisted
    WebDataset.log_keys WebDataset.mcached WebDataset.lmdb_cached
    WebDataset.create_url_iterator WebDataset.update_cache_info
    DataPipeline MockDataset tarfile_samples tarfile_to_samples gopen gopen_schemes shardspec
    shuffle detshuffle decode map map_dict map_tuple to_tuple rename rename_keys extract_keys select
    rsample slice batched unbatched associate info xdecode Cached LMDBCached getfirst transform_with
    pipelinefilter repeatedly filters:log_keys filters:unlisted filters:default_collation_fn
    filters:_shuffle filters:_select filters:_map filters:_to_tuple filters:_batched
    filters:_rsample filters:_extract_keys filters:_rename_keys filters:_xdecode
    Decoder DecodingError gzfilter Continue imagehandler handle_extension torch_loads torch_video
    torch_audio pytorch_weights_only autodecode:ImageHandler autodecode:imagespecs
    autodecode:decoders autodecode:unpickle_loads tenbin:encode_buffer tenbin:decode_buffer
    tenbin:save tenbin:load tenbin:read tenbin:write
    reraise_exception ignore_and_continue ignore_and_stop warn_and_continue warn_and_stop
    TarWriter TarWriter.write TarWriter.close ShardWriter ShardWriter.write ShardWriter.close
    numpy_dumps torch_dumps WebLoader FluidWrapper FluidInterface multi:MultiLoader
    SimpleShardList ResampledShards shardlists:ResampledShardList resampled MultiShardSample
    split_by_node split_by_worker single_node_only non_empty shardlists:DirectoryShardList
    shardlists:expand_urls LRUCleanup pipe_cleaner cache:StreamingOpen cache:FileCache
    cache:url_to_cache_name RoundRobin RandomMix compat:WebDataset compat:WebLoader
    compat:FluidInterface compat:FluidWrapper compat:check_empty utils:enforce_security
    utils:pytorch_worker_info utils:pytorch_worker_seed tariterators:base_plus_ext
    tariterators:url_opener tariterators:tar_file_iterator tariterators:tar_file_expander
    tariterators:group_by_keys tariterators:valid_sample
""".split()  # noqa: SIM905  # a list is no table


def is_its_own(thing: Any) -> bool:
    """Not what a module has imported from elsewhere."""
    if isinstance(thing, types.ModuleType):
        return False
    return (getattr(thing, "__module__", None) or "webdataset").startswith("webdataset")


def public(module: Any) -> dict[str, Any]:
    return {
        name: thing
        for name, thing in vars(module).items()
        if not name.startswith("__") and is_its_own(thing)
    }


def default(value: Any) -> Any:
    """Defaults that are functions are compared by name, and those of lists by their elements."""
    if isinstance(value, list | tuple):
        return type(value).__name__, [default(each) for each in value]
    if isinstance(value, types.ModuleType | type) or callable(value):
        return value.__name__
    return "a stream" if hasattr(value, "write") else value


def parameters(thing: Any) -> list[tuple[Any, ...]] | None:
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return None
    return [(p.name, p.kind, default(p.default)) for p in signature.parameters.values()]


def things() -> list[str]:
    names = [name for name in dir(real) if not name.startswith("_")]
    for module in MODULES:
        found = public(importlib.import_module(f"webdataset.{module}"))
        names += [f"{module}:{name}" for name in sorted(found)]
        for name, thing in sorted(found.items()):
            if inspect.isclass(thing):
                methods = [n for n in vars(thing) if n not in NOT_ITS_OWN]
                names += [f"{module}:{name}.{method}" for method in methods]
    return sorted({*names, *DOCUMENTED})


def look_up(package: str, path: str) -> Any:
    module, _, name = path.rpartition(":")
    thing: Any = importlib.import_module(f"{package}.{module}" if module else package)
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing


@pytest.mark.parametrize("path", things())
def test_a_name_is_there_with_the_same_parameters(path):
    if path in EXCEPTIONS:
        pytest.skip(EXCEPTIONS[path])
    theirs, mine = look_up("webdataset", path), look_up("headrace.webdataset", path)
    if isinstance(theirs, types.ModuleType):
        assert isinstance(mine, types.ModuleType)
        return
    assert callable(mine) == callable(theirs)
    if callable(theirs):
        assert parameters(mine) == parameters(theirs)
    elif isinstance(theirs, bool | int | str | bytes):
        assert type(mine) is type(theirs)


def test_exceptions_are_still_needed():
    for path in EXCEPTIONS.keys() - {"typecheck"}:
        theirs = look_up("webdataset", path)
        try:
            mine = look_up("headrace.webdataset", path)
        except AttributeError:
            continue
        assert parameters(mine) != parameters(theirs), path


@pytest.mark.parametrize("library", [real, ours])
def test_the_constructor_s_steps_may_be_overridden_as_in_the_real_one(library, tmp_path):
    """What subclasses in training code do: another source of shards, the cache switched off."""
    shard = write(tmp_path / "a.tar", [("a.txt", b"1")])

    class Mine(library.WebDataset):
        def create_url_iterator(self, args):
            self.append(library.SimpleShardList([shard, shard]))

        def update_cache_info(self, args):
            args.cache_size, args.cache_dir = 0, None

    found = list(Mine("nowhere.tar", shardshuffle=False, cache_dir=str(tmp_path)))
    assert [sample["txt"] for sample in found] == [b"1", b"1"]


def test_the_function_gopen_hides_the_module_of_that_name():
    from headrace.webdataset.gopen import gopen

    assert ours.gopen is gopen and callable(ours.gopen)


def test_torch_s_classes_are_imported_from_the_module_pytorch_too():
    torch = pytest.importorskip("torch", reason="torch is not installed: NOT TESTED")
    from headrace.webdataset.pytorch import DataLoader, TorchTensor

    assert (DataLoader, TorchTensor) == (torch.utils.data.DataLoader, torch.Tensor)


def test_the_version_is_a_string():
    assert isinstance(ours.__version__, str)
