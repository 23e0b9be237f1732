"""What a run folder says of itself."""

import json
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
