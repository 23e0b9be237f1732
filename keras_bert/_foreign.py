"""Refuses to run on top of the other package that is called keras_bert.

The package index holds an archived distribution `keras-bert` of another
author that installs a module `keras_bert` too. With both installed, the
files of the two lie mixed in one folder: whichever came last has replaced
`__init__.py`, and uninstalling one deletes files of the other.
"""

from importlib import metadata

OURS = "keras3-bert"
FOREIGN = "keras-bert"


def refuse_foreign_package():
    """Raises ImportError when the other distribution is installed.

    It reads folder listings only: about 2 ms on the first call.
    """
    try:
        version = metadata.distribution(FOREIGN).version
    except metadata.PackageNotFoundError:
        return
    raise ImportError(
        f"The distribution `{FOREIGN}` {version} of another author is "
        "installed and shares the module name `keras_bert` with this "
        f"library (`{OURS}`): their files overwrite each other. Run "
        f"`pip uninstall {FOREIGN}`, then "
        f"`pip install --force-reinstall --no-deps {OURS}`."
    )
