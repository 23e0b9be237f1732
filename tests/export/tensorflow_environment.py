"""A Python that has tensorflow and tensorflow-text and nothing else.

A new virtual environment whose packages are links to the installed ones: what
the two distributions require, and what that requires. It is made in a second
and needs no network.
"""

import re
import sys
import venv
from importlib import metadata
from pathlib import Path


def make_environment(folder):
    """Makes the environment in `folder`; gives its interpreter."""
    venv.create(folder, with_pip=False, symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    target = folder / "lib" / version / "site-packages"
    for name in sorted(_closure(["tensorflow", "tensorflow-text"])):
        for entry in _entries(metadata.distribution(name)):
            link = target / entry
            link.parent.mkdir(exist_ok=True)
            if not link.exists():
                link.symlink_to(metadata.distribution(name).locate_file(entry))
    return folder / "bin" / "python"


def _closure(names):
    """The distributions and all that they require, extras left out."""
    found, todo = set(), list(names)
    while todo:
        name = re.sub(r"[-_.]+", "-", todo.pop()).lower()
        if name in found:
            continue
        try:
            requires = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # for another system or another Python
        found.add(name)
        for line in requires:
            if "extra ==" not in line:
                todo.append(re.match(r"[\w.-]+", line).group())
    return found


def _entries(distribution):
    """What a distribution puts into site-packages, as few paths as do."""
    entries = set()
    for file in distribution.files:
        if ".." in file.parts or file.parts[0] == "__pycache__":
            continue
        top = Path(distribution.locate_file(file.parts[0]))
        # `google` is shared by several distributions and has no __init__.
        shared = (
            top.is_dir()
            and top.suffix != ".dist-info"
            and not (top / "__init__.py").exists()
            and len(file.parts) > 2
        )
        entries.add(Path(*file.parts[: 2 if shared else 1]))
    return sorted(entries)
