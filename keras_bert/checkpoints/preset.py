"""Our own preset folder.

    config.json                 library, version, backbone, task, preprocessor
    model.weights.safetensors   all variables under their paths
    vocab.txt                   one token a line, line number = id
    tokenizer_config.json       case, accents, length, in Hugging Face's words

It holds no code and no pickle, and needs no Keras to read.
"""

from importlib import metadata
from pathlib import Path

from keras_bert.checkpoints import tokenizer_files
from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.files import read_json
from keras_bert.checkpoints.files import write_json
from keras_bert.checkpoints.safetensors_file import SafetensorsStore
from keras_bert.checkpoints.safetensors_file import write_safetensors

LIBRARY = "keras_bert"
WEIGHTS = "model.weights.safetensors"
FORMAT_VERSION = 1


def is_preset(folder):
    """Whether the folder is ours, by its weights or by its config.json."""
    if (Path(folder) / WEIGHTS).is_file():
        return True
    path = Path(folder) / "config.json"
    if not path.is_file():
        return False
    try:
        return read_json(path).get("library") == LIBRARY
    except ValueError:
        return False


def open_preset(folder, source=None):
    """A `Checkpoint` of our own folder."""
    folder = Path(folder)
    path = folder / "config.json"
    if not path.is_file():
        raise ValueError(f"{folder} lacks config.json")
    config = read_json(path)
    version = config.get("format_version")
    if version != FORMAT_VERSION:
        raise ValueError(
            f"{path} has format_version {version!r}, written by keras_bert "
            f"{config.get('library_version')}; this is keras_bert "
            f"{library_version()}, which reads {FORMAT_VERSION}"
        )
    if not isinstance(config.get("backbone"), dict):
        raise ValueError(f"{path} lacks the key `backbone`")
    if not (folder / WEIGHTS).is_file():
        raise ValueError(f"{folder} lacks {WEIGHTS}")
    store = SafetensorsStore([folder / WEIGHTS])
    tokenizer = None
    if (folder / "vocab.txt").is_file():
        tokenizer = tokenizer_files.read_google(folder)
    task_config = config.get("task_config") or {}
    is_embedder = config.get("task") == "BertTextEmbedder"
    return Checkpoint(
        "keras_bert",
        source or folder,
        store,
        config["backbone"],
        task=config.get("task"),
        task_config=task_config,
        embedder_config=task_config if is_embedder else config.get("embedder"),
        preprocessor_config=config.get("preprocessor"),
        problem_type=config.get("problem_type"),
        tokenizer=tokenizer,
        path=folder,
    )


def write_preset(folder, parts):
    """Writes `parts` (see `write.py`) as our own folder."""
    write_safetensors(
        Path(folder) / WEIGHTS,
        [
            (
                [name],
                parts.dtype(name),
                [parts.shape(name)],
                lambda name=name: [parts.read(name)],
            )
            for name in parts.names()
        ],
    )
    tokenizer_files.write_tokenizer(
        folder,
        parts.tokenizer,
        parts.backbone_config["max_sequence_length"],
    )
    write_json(
        Path(folder) / "config.json",
        {
            "library": LIBRARY,
            "library_version": library_version(),
            "format_version": FORMAT_VERSION,
            "backbone": parts.backbone_config,
            "task": parts.task,
            "task_config": parts.task_config,
            "preprocessor": parts.preprocessor_config,
            "embedder": parts.embedder_config or None,
            "problem_type": parts.problem_type,
        },
    )


def without_place(parts):
    """Names that our own folder cannot hold: none."""
    return []


def library_version():
    try:
        return metadata.version("keras3-bert")
    except metadata.PackageNotFoundError:
        return "unknown"
