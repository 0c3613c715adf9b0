"""Every public name of the real package and of its modules is here, with the same parameters."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import types
from typing import Any

import headrace.webdataset as ours
import pytest

real = pytest.importorskip("webdataset", reason="webdataset is not installed: NOT TESTED")

#: All of its modules, as they lie in its folder.
MODULES = sorted(
    module.name for module in pkgutil.iter_modules(real.__path__) if module.name != "typecheck"
)

#: What the real package has and we do not, or have otherwise, and why.
EXCEPTIONS = {
    "gopen:PIPE": "imported there from subprocess",
}


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
                methods = [n for n in vars(thing) if not n.startswith("_")]
                names += [f"{module}:{name}.{method}" for method in methods]
    return names


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
    for path in EXCEPTIONS:
        theirs = look_up("webdataset", path)
        try:
            mine = look_up("headrace.webdataset", path)
        except AttributeError:
            continue
        assert parameters(mine) != parameters(theirs), path


def test_the_function_gopen_hides_the_module_of_that_name():
    from headrace.webdataset.gopen import gopen

    assert ours.gopen is gopen and callable(ours.gopen)


def test_torch_s_classes_are_imported_from_the_module_pytorch_too():
    torch = pytest.importorskip("torch", reason="torch is not installed: NOT TESTED")
    from headrace.webdataset.pytorch import DataLoader, TorchTensor

    assert (DataLoader, TorchTensor) == (torch.utils.data.DataLoader, torch.Tensor)


def test_the_version_is_a_string():
    assert isinstance(ours.__version__, str)
