"""From one format to another, verified by reading back."""

from keras_bert.checkpoints import shapes
from keras_bert.checkpoints.parts import of_checkpoint
from keras_bert.checkpoints.source import open_source
from keras_bert.checkpoints.write import placed
from keras_bert.checkpoints.write import write_parts


def convert(source, directory, format="keras_bert"):
    """Writes a checkpoint in another format; no model is built.

    Arrays are read, turned and written one at a time, and keep their type
    bit for bit. Before the target appears, what was written is opened again
    and every array and the config are compared with the source.

    Args:
        source: any SOURCE that `open_source` accepts.
        directory: the folder to write (for "google" also a path that ends
            in .zip).
        format: "keras_bert", "huggingface", "google" or "keras_hub".

    Returns a `WriteReport`: what was written, and what the format has no
    place for (also logged as a warning).

    Raises:
        ValueError: as `open_source` does; a target that holds another
            format. Nothing is left behind.

    Example:

    ```python
    keras_bert.convert("uncased_L-12_H-768_A-12.zip", "out", "huggingface")
    ```
    """
    checkpoint = open_source(source)
    _require_backbone(checkpoint)
    parts = of_checkpoint(checkpoint)

    def check(folder):
        verify(parts, folder, format)

    report = write_parts(parts, directory, format, check)
    report.notes[:0] = [
        *checkpoint.notes,
        *checkpoint.tokenizer_problems,
        *(
            f"in the source, not understood: {name}"
            for name in checkpoint.unused
        ),
    ]
    report.show()
    return report


def _require_backbone(checkpoint):
    """A backbone with holes is no model in any format."""
    found = shapes.problems(checkpoint)
    if found:
        raise ValueError(f"{checkpoint.path}: {'; '.join(found[:5])}")


def verify(parts, folder, format):
    """Compares what lies in `folder` with what should have been written."""
    written = open_source(str(folder))
    names, _ = placed(parts, format)
    for name in names:
        if name not in written:
            raise ValueError(f"{name} was lost while writing {format}")
        ours, theirs = parts.read(name), written.read(name)
        if (
            ours.dtype != theirs.dtype
            or ours.shape != theirs.shape
            or ours.tobytes() != theirs.tobytes()
        ):
            raise ValueError(f"{name} changed while writing {format}")
    _verify_config(parts, written, format)
    if parts.tokenizer is not None:
        _verify_tokenizer(parts.tokenizer.arguments, written)


def _verify_tokenizer(arguments, written):
    found = written.tokenizer_arguments or {}
    # None means "as lowercase says"; KerasHub has no third value.
    for settings in (arguments, found):
        if settings.get("strip_accents") is None:
            settings["strip_accents"] = settings.get("lowercase")
    for key, value in arguments.items():
        if found.get(key) != value:
            raise ValueError(
                f"the tokenizer's {key} changed while writing {written.format}"
            )


def _verify_config(parts, written, format):
    if format == "keras_hub":
        return
    for key, value in parts.backbone_config.items():
        if key in ("pooler", "activation"):
            continue
        if written.backbone_config[key] != value:
            raise ValueError(
                f"{key} changed while writing {format}: {value!r} became "
                f"{written.backbone_config[key]!r}"
            )
