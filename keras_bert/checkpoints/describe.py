"""What a SOURCE is, as plain values: the answer of `keras-bert info`."""

from keras_bert.checkpoints import shapes
from keras_bert.checkpoints.source import open_source

_HEADS = {
    "mlm": "masked language model",
    "next_sentence": "next sentence",
    "classifier": "classifier",
    "span": "question answering",
}


def describe(source):
    """A dict of plain values; reads no arrays.

    Args:
        source: any SOURCE that `open_source` accepts.

    Returns `format`, `architecture` (arguments of the backbone), `task`,
    `labels`, `heads`, `parameters` (counts by part, exact), `dtype`,
    `vocabulary_size`, `lowercase`, `strip_accents`, `understood` (whether
    every name, shape and setting was), and `problems` and `notes` in
    sentences.
    """
    checkpoint = open_source(source, strict=False)
    problems = shapes.problems(checkpoint) + checkpoint.tokenizer_problems
    problems += [f"not understood: {name}" for name in checkpoint.unused]
    arguments = None
    if not checkpoint.tokenizer_problems:
        arguments = checkpoint.tokenizer_arguments
    return {
        "source": checkpoint.source,
        "format": checkpoint.format,
        "architecture": checkpoint.backbone_config,
        "task": checkpoint.task,
        "labels": checkpoint.task_config.get("labels"),
        "heads": [_HEADS[part] for part in checkpoint.heads()],
        "parameters": _counts(checkpoint),
        "dtype": _dtype(checkpoint),
        "vocabulary_size": arguments and len(arguments["vocabulary"]),
        "lowercase": arguments and arguments["lowercase"],
        "strip_accents": arguments and arguments["strip_accents"],
        "understood": not problems and not checkpoint.notes,
        "problems": problems,
        "notes": checkpoint.notes,
    }


def _counts(checkpoint):
    """Parameters by part; the decoder is the token table, counted once."""
    counts = {}
    for name in checkpoint.names():
        part = checkpoint.part(name) or "other"
        try:
            shape = checkpoint.shape(name)
        except ValueError:
            continue
        counts[part] = counts.get(part, 0) + shapes.count({name: shape})
    ordered = {
        part: counts[part]
        for part in (
            "embeddings",
            "encoder",
            "pooler",
            *_HEADS,
            "other",
        )
        if part in counts
    }
    return {**ordered, "total": sum(ordered.values())}


def _dtype(checkpoint):
    found = {checkpoint.dtype(name).name for name in checkpoint.names()}
    return ", ".join(sorted(found))
