"""TensorFlow checkpoints: Google's 2018 folders, and their .zip archives.

Reads a folder without a `checkpoint` file, a prefix, an `.index` path or a
released .zip. Optimizer slots and `global_step` are skipped silently: to start
from weights and to resume a run are two things.

The activation called "gelu" is read as the exact (erf) form, as in the first
releases and in transformers; the original's code of February 2019 and later
computes the tanh form (at most 4.8e-4 apart per activation).
"""

import atexit
import re
import shutil
import tempfile
import zipfile
from pathlib import Path
from pathlib import PurePosixPath

import numpy as np

from keras_bert._tensorflow import tensorflow
from keras_bert.checkpoints import config as configs
from keras_bert.checkpoints import tokenizer_files
from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.files import read_json

OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_SKIPPED = re.compile(
    r"(/(adam|lamb|lars)_[mv]|/Adam(_1)?|/Momentum"
    r"|/ExponentialMovingAverage)$"
    r"|^(global_step|beta[12]_power|loss_scale|good_steps"
    r"|current_loss_scale)$"
)

# What the reader makes of a damaged file, besides TensorFlow's own errors.
_READ_ERRORS = (RuntimeError, ValueError, IndexError, KeyError)


class TensorFlowStore:
    """The arrays of a TensorFlow checkpoint prefix."""

    def __init__(self, prefix):
        tf = tensorflow()
        self.prefix = str(prefix)
        try:
            self._reader = tf.train.load_checkpoint(self.prefix)
            self._shapes = self._reader.get_variable_to_shape_map()
            self._dtypes = self._reader.get_variable_to_dtype_map()
        except (tf.errors.OpError, *_READ_ERRORS) as error:
            raise _corrupt(self.prefix, error) from error

    def names(self):
        return sorted(self._shapes)

    def shape(self, name):
        return tuple(self._shapes[name])

    def dtype(self, name):
        return np.dtype(self._dtypes[name].as_numpy_dtype)

    def read(self, name):
        tf = tensorflow()
        try:
            return np.asarray(self._reader.get_tensor(name))
        except (tf.errors.OpError, *_READ_ERRORS) as error:
            raise _corrupt(self.prefix, error) from error


def open_google(prefix, source=None):
    """A `Checkpoint` of a prefix: Google's, or the Model Garden's."""
    prefix = Path(prefix)
    store = TensorFlowStore(prefix)
    if OBJECT_GRAPH in store.names():
        from keras_bert.checkpoints.model_garden import open_model_garden

        return open_model_garden(store, prefix, source or prefix)
    config_path = _config_path(prefix)
    backbone = configs.from_google(read_json(config_path), config_path)
    aliases, skipped = {}, []
    for raw in store.names():
        if _SKIPPED.search(raw):
            skipped.append(raw)
        else:
            # TF1 Hub modules put everything under `module/`.
            aliases[raw.removeprefix("module/")] = raw
    backbone["pooler"] = "bert/pooler/dense/kernel" in aliases
    return Checkpoint(
        "google",
        source or prefix,
        store,
        backbone,
        aliases={key: raw for key, raw in aliases.items()},
        skipped=skipped,
        task=_task(aliases),
        # run_classifier.py drops out 10% of the pooled output, always.
        task_config={"dropout": 0.1},
        tokenizer=tokenizer_files.read_google(prefix.parent),
        path=prefix,
    )


def _task(aliases):
    if "output_weights" in aliases:
        return "BertTextClassifier"
    if "cls/squad/output_weights" in aliases:
        return "BertQuestionAnswerer"
    if "cls/seq_relationship/output_weights" in aliases:
        return "BertPretrainer"
    if "cls/predictions/output_bias" in aliases:
        return "BertMaskedLM"
    return None


def _config_path(prefix):
    for name in ("bert_config.json", "config.json"):
        if (prefix.parent / name).is_file():
            return prefix.parent / name
    raise ValueError(
        f"no bert_config.json (nor config.json) lies beside {prefix}: the "
        "number of heads and the activation are written only there"
    )


def _corrupt(prefix, error):
    reason = str(error).strip().splitlines() or [type(error).__name__]
    return ValueError(
        f"{prefix} (.index and .data-*) is truncated or corrupt: {reason[0]}"
    )


def prefix_in(folder):
    """The one checkpoint prefix in a folder, or None.

    Where a `checkpoint` file names the latest of several, that one.
    """
    folder = Path(folder)
    prefixes = sorted(
        path.with_name(path.name.removesuffix(".index"))
        for path in folder.glob("*.index")
    )
    if len(prefixes) <= 1:
        return prefixes[0] if prefixes else None
    state = folder / "checkpoint"
    if state.is_file():
        named = re.search(
            r'^model_checkpoint_path: "([^"]+)"', state.read_text(), re.M
        )
        if named:
            # A folder that was moved keeps absolute paths in this file.
            latest = folder / PurePosixPath(named.group(1)).name
            if latest in prefixes:
                return latest
            raise ValueError(
                f"{state} names {named.group(1)!r}, which is not in {folder}"
            )
    raise ValueError(
        f"{folder} holds several checkpoints and no `checkpoint` file that "
        f"names the latest: {', '.join(path.name for path in prefixes)}. "
        "Name one of them"
    )


def extract_zip(path):
    """Unpacks an archive into a temporary folder that ends with the process.

    Returns the folder that holds the checkpoint.
    """
    folder = Path(tempfile.mkdtemp(prefix="keras_bert_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                _check_member(path, member)
            archive.extractall(folder)
    except (zipfile.BadZipFile, EOFError, OSError, RuntimeError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise ValueError(f"{path} is truncated or corrupt: {error}") from error
    except ValueError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    found = sorted({path.parent for path in folder.rglob("*.index")})
    found = found or sorted(
        {path.parent for path in folder.rglob("config.json")}
    )
    if not found:
        raise ValueError(
            f"{path} holds no checkpoint: looked for *.index and config.json"
        )
    return found[0]


def _check_member(path, member):
    name = PurePosixPath(member.filename.replace("\\", "/"))
    is_link = (member.external_attr >> 16) & 0o170000 == 0o120000
    if name.is_absolute() or ".." in name.parts or is_link or ":" in str(name):
        raise ValueError(
            f"{path} is refused: its entry {member.filename!r} leads out of "
            "the folder it is unpacked to"
        )
