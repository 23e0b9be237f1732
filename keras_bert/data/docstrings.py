"""The docstrings that every Python carries, with where they come from.

Public modules of the standard library and of numpy are imported (about two
seconds) and their public functions, classes and methods are walked in the
order of their names. Modules that open windows or browsers, print, change
the terminal or are test code are left out.
"""

import functools
import importlib
import inspect
import pkgutil
import sys
import types
import warnings
from typing import NamedTuple

# Import with side effects, or nothing but code tables.
_LEFT_OUT = frozenset(
    [
        "antigravity",
        "distutils",
        "encodings",
        "ensurepip",
        "idlelib",
        "lib2to3",
        "pydoc_data",
        "readline",
        "rlcompleter",
        "site",
        "this",
        "tkinter",
        "turtle",
        "turtledemo",
    ]
)
_LEFT_OUT_PARTS = frozenset(
    ["__main__", "core", "conftest", "distutils", "f2py", "test", "tests"]
)


class Docstring(NamedTuple):
    """One docstring.

    Args:
        package: top-level name, "numpy".
        module: full name of the module that defines the object.
        name: the object's qualified name.
        owner: the name of the document it belongs to: a class for its
            methods, else the object itself.
        text: the docstring, indentation removed.
    """

    package: str
    module: str
    name: str
    owner: str
    text: str


@functools.cache
def docstrings():
    """All docstrings, each text once, in a fixed order.

    The result depends only on the versions of Python and numpy and on the
    platform (a few modules exist on some only).
    """
    with warnings.catch_warnings():
        # Deprecated modules warn when they are imported or looked into.
        warnings.simplefilter("ignore")
        return tuple(_docstrings())


def _docstrings():
    seen = set()
    for module in _modules():
        package = module.__name__.partition(".")[0]
        for name, owner, value in _members(module, package):
            text = getattr(value, "__doc__", None)
            if not isinstance(text, str) or not text.strip():
                continue
            text = inspect.cleandoc(text)
            if text in seen:
                continue
            seen.add(text)
            yield Docstring(
                package,
                _defining_module(value, module.__name__),
                name,
                f"{module.__name__}.{owner}",
                text,
            )


def _modules():
    names = sorted(sys.stdlib_module_names | {"numpy"})
    for name in names:
        if name.startswith("_") or name in _LEFT_OUT or name == "test":
            continue
        yield from _imported(name)


def _imported(name):
    try:
        module = importlib.import_module(name)
    except Exception:
        # Modules of other platforms, or without their C library.
        return
    yield module
    for part in sorted(
        part.name for part in pkgutil.iter_modules(_path(module))
    ):
        # numpy keeps its code in private modules behind public ones.
        if part in _LEFT_OUT_PARTS or part.startswith("_"):
            continue
        yield from _imported(f"{name}.{part}")


def _path(module):
    return getattr(module, "__path__", [])


def _members(module, package):
    """Yield (name, owner, object) of a module, itself first."""
    yield "", "", module
    for name, value in sorted(vars(module).items()):
        if name.startswith("_"):
            continue
        home = getattr(value, "__module__", None) or module.__name__
        if home.partition(".")[0].lstrip("_") != package:
            continue
        if inspect.isclass(value):
            yield name, name, value
            for method, member in sorted(vars(value).items()):
                if not method.startswith("_"):
                    yield f"{name}.{method}", name, member
        elif callable(value):
            yield name, name, value


def _defining_module(value, default):
    """The module whose code defines the object, if that can be known.

    numpy's functions all say `numpy`; their globals know the module.
    """
    if isinstance(value, types.FunctionType):
        function = inspect.unwrap(value)
        return getattr(function, "__globals__", {}).get("__name__", default)
    home = getattr(value, "__module__", None)
    return home if isinstance(home, str) else default
