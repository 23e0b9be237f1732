"""What a SOURCE is: found strictly, by the files that are there."""

import difflib
import re
from pathlib import Path

from keras_bert._errors import invalid
from keras_bert.checkpoints import google
from keras_bert.checkpoints import huggingface
from keras_bert.checkpoints import preset
from keras_bert.checkpoints import tokenizer_files
from keras_bert.checkpoints.hubs import download_huggingface
from keras_bert.checkpoints.hubs import download_keras_hub
from keras_bert.tokenizers._vocabulary_file import check_vocabulary

WORDS = "embeddings/token_embedding/embeddings"
LOOKED_FOR = (
    "config.json with model.weights.safetensors (keras_bert); "
    "config.json with model.safetensors, pytorch_model.bin or their "
    ".index.json (Hugging Face); config.json with model.weights.h5 "
    "(KerasHub); bert_config.json with *.index and *.data-* (Google, "
    "Model Garden)"
)
_HUB_WEIGHTS = ("model.weights.h5", "model.weights.json")


def open_source(source, strict=True):
    """Opens any checkpoint; reads headers, not arrays.

    Args:
        source: a path (str or `Path`) or a name: our preset or run folder;
            a Google folder, checkpoint prefix, `.index` file or `.zip`; a
            Hugging Face folder or one of its weight files; a Model Garden
            checkpoint; a KerasHub preset folder or name;
            "hf://owner/name".
        strict: whether a vocabulary whose length differs from the embedding
            table raises (`False` adds a note).

    Returns a `Checkpoint`.

    Raises:
        ValueError: nothing there, more than one format there, a damaged
            file, or another architecture; the message names the files.
    """
    if not isinstance(source, (str, Path)) or not str(source):
        raise invalid("source", "a path or a name", source)
    checkpoint = _open(str(source))
    _check_vocabulary(checkpoint, strict)
    return checkpoint


def tokenizer_arguments(source):
    """What SOURCE says of its tokenizer: arguments of `BertTokenizer`.

    A folder with the tokenizer's own files needs no weights. None for a lone
    vocab.txt: nothing there says whether it is lower case.
    """
    folder = Path(source).expanduser()
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else ()
    # KerasHub's file of that name is another; its vocabulary is in assets/.
    own = (
        {"vocab.txt"} if "assets" in names else {"vocab.txt", "tokenizer.json"}
    )
    if own.isdisjoint(names):
        return open_source(source).tokenizer_arguments
    if "bert_config.json" in names or any(folder.glob("*.index")):
        return tokenizer_files.read_google(folder).arguments
    if names.isdisjoint(
        ("tokenizer_config.json", "tokenizer.json", "config.json")
    ):
        return None
    return tokenizer_files.read_huggingface(folder).arguments


def _open(source):
    if source.startswith("hf://"):
        return _open_folder(download_huggingface(source), source)
    path = Path(source).expanduser()
    if path.is_dir():
        return _open_folder(path, source)
    if path.is_file():
        return _open_file(path, source)
    if Path(f"{path}.index").is_file():
        return google.open_google(path, source)
    return _open_name(path, source)


def _open_folder(folder, source):
    found = formats_in(folder)
    if len(found) > 1:
        listed = "; ".join(
            f"{name}: {', '.join(files)}" for name, files in found.items()
        )
        raise invalid(
            "source",
            f"a folder with one format, found {listed}. Name the file itself "
            "to choose",
            source,
        )
    if not found:
        # A run folder keeps its model one level down.
        for name in ("model", "preset"):
            if preset.is_preset(folder / name):
                return preset.open_preset(folder / name, source)
        # One that has not ended has checkpoints; the newest counts.
        steps = folder.glob("checkpoints/step-*/preset")
        for path in sorted(filter(preset.is_preset, steps), reverse=True):
            return preset.open_preset(path, source)
        names = sorted(path.name for path in folder.iterdir())
        raise invalid(
            "source",
            f"a folder with a BERT checkpoint. Looked for: {LOOKED_FOR}. "
            f"Found: {names[:8] or 'nothing'}",
            source,
        )
    (name,) = found
    if name == "keras_bert":
        return preset.open_preset(folder, source)
    if name == "keras_hub":
        from keras_bert.checkpoints.keras_hub import open_keras_hub

        return open_keras_hub(folder, source)
    if name == "huggingface":
        return huggingface.open_huggingface(folder, source)
    return google.open_google(google.prefix_in(folder), source)


def formats_in(folder):
    """{format: its weight files} of a folder."""
    found = {
        "keras_bert": [preset.WEIGHTS] * preset.is_preset(folder),
        "huggingface": [
            name for name in huggingface.WEIGHTS if (folder / name).is_file()
        ],
        "keras_hub": [
            name for name in _HUB_WEIGHTS if (folder / name).is_file()
        ],
        "google": sorted(path.name for path in folder.glob("*.index")),
    }
    return {name: files for name, files in found.items() if files}


def _open_file(path, source):
    name = path.name
    if name.endswith(".zip"):
        return _open_folder(google.extract_zip(path), source)
    if name.endswith(".index"):
        prefix = path.with_name(name.removesuffix(".index"))
        return google.open_google(prefix, source)
    data = re.fullmatch(r"(.*)\.data-\d+-of-\d+", name)
    if data:
        return google.open_google(path.with_name(data.group(1)), source)
    if name == preset.WEIGHTS:
        return preset.open_preset(path.parent, source)
    if name.endswith((".safetensors", ".bin", ".index.json")):
        return huggingface.open_huggingface(path.parent, source, name)
    if name in ("config.json", "bert_config.json"):
        return _open_folder(path.parent, source)
    raise invalid(
        "source",
        "a folder, or a file ending in .index, .zip, .safetensors or .bin",
        source,
    )


def _open_name(path, source):
    """Nothing on disk has that name: a preset's name, or a mistake."""
    if re.fullmatch(r"[a-z0-9][a-z0-9_.]*", source):
        folder = download_keras_hub(source)
        if folder is not None:
            return _open_folder(Path(folder), source)
    hint = ""
    if path.parent.is_dir():
        near = [
            found.name.removesuffix(".index")
            for found in path.parent.iterdir()
            if found.is_dir() or found.name.endswith((".index", ".zip"))
        ]
        close = difflib.get_close_matches(path.name, near, 1, 0.4)
        if close:
            hint = f"; the nearest there is `{path.parent / close[0]}`"
    if re.fullmatch(r"[\w.-]+/[\w.-]+", source):
        hint += f'; for the Hugging Face hub write "hf://{source}"'
    raise invalid(
        "source",
        f"a folder, a file or a checkpoint prefix (looked for {path} and "
        f"{path}.index), a KerasHub preset name, or hf://owner/name{hint}",
        source,
    )


def _check_tokens(tokenizer, checkpoint):
    """A vocabulary that no tokenizer can be built from is none."""
    try:
        check_vocabulary(tokenizer.vocabulary)
    except ValueError as error:
        tokenizer.problem = (
            f"{checkpoint.path}: {error}. Load with preprocessor=None and "
            "tokenize outside"
        )


def _check_vocabulary(checkpoint, strict):
    tokenizer = checkpoint.tokenizer_files
    if tokenizer is None or WORDS not in checkpoint:
        return
    rows = checkpoint.shape(WORDS)[0]
    if len(tokenizer) == rows:
        _check_tokens(tokenizer, checkpoint)
        return
    if checkpoint.format == "keras_bert" and len(tokenizer) < rows:
        # Our own models may have spare rows (a table padded to a multiple of
        # 64, say), and what was saved must load.
        return
    text = (
        f"{checkpoint.path}: the vocabulary has {len(tokenizer)} tokens, the "
        f"embedding table {rows} rows"
    )
    if strict:
        raise ValueError(
            f"{text}. Ids would not mean what they meant in training; "
            "strict=False reports it only"
        )
    checkpoint.notes.append(text)
