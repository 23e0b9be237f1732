"""What a run folder says of itself, and how."""

import json
import math
from pathlib import Path

from keras_bert._errors import invalid


def result_of(source):
    """result.json of a run folder, or of the run that a preset is in.

    Returns a dict, empty where the source is neither.
    """
    for folder in (Path(source), Path(source).absolute().parent):
        path = folder / "result.json"
        if not path.is_file() or not (folder / "preset").is_dir():
            continue
        try:
            return json.loads(path.read_text("utf-8"))
        except ValueError as error:
            raise invalid(
                "source", f"JSON in {path} ({error})", str(source)
            ) from error
    return {}


def in_json(value):
    """A value, or a dict of them, with None for numbers that JSON lacks."""
    if isinstance(value, dict):
        return {key: in_json(one) for key, one in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
