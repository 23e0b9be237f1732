"""TASK `glue`: all data sets at once, from the run folders of each."""

import json
import statistics
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np

from keras_bert._errors import invalid
from keras_bert.cli import _common
from keras_bert.cli import _tasks
from keras_bert.tasks import glue_table
from keras_bert.tasks.glue import GLUE
from keras_bert.tasks.glue import folder_in
from keras_bert.tasks.table import TASKS


def run_folders(sources):
    """Task -> its run folder and result."""
    found = {}
    for source in sources:
        path = Path(source) / "result.json"
        if not path.is_file():
            raise invalid("--model", "run folders (with result.json)", source)
        try:
            result = json.loads(path.read_text("utf-8"))
            task = result.get("task")
        except (ValueError, AttributeError):
            raise invalid(
                "--model", f"a run folder (no JSON object in {path})", source
            ) from None
        if task not in GLUE:
            raise invalid(
                "--model", f"runs of {', '.join(GLUE)}", f"{source}: {task}"
            )
        if task in found:
            raise invalid(
                "--model", "one run per task", f"{found[task][0]}, {source}"
            )
        found[task] = (source, result)
    return found


def evaluate(args):
    """The paper's Table 1 with the dev figures of the run folders."""
    runs = run_folders(args.model)
    ours = {
        "these runs, best": {
            task: result["dev"] for task, (_, result) in runs.items()
        }
    }
    several = {}
    for task, (source, result) in runs.items():
        lines = Path(source) / "runs.jsonl"
        if not lines.is_file():
            raise invalid("--model", "run folders (with runs.jsonl)", source)
        records = [
            json.loads(line)["dev"]
            for line in lines.read_text("utf-8").splitlines()
        ]
        several[task] = _mean(records)
        if len(records) > 1:
            ours["these runs, mean"] = several
        result["runs"] = len(records)
    rows = glue_table.table(ours)
    _common.print_table(rows, "GLUE, as Table 1 of Devlin et al. (2019)")
    print("  the paper's rows are test figures, these are dev figures")
    for task, (source, result) in runs.items():
        print(f"  {task}: {result['runs']} run(s) in {source}")
    header, _, *body = rows
    return {
        "rows": {
            row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in body
        }
    }


def _mean(records):
    """Records of equal form with the mean in the place of each number."""
    first = records[0]
    if isinstance(first, dict):
        return {key: _mean([one[key] for one in records]) for key in first}
    if isinstance(first, int | float):
        return statistics.fmean(records)
    return first


def predict(args):
    """One zip with a submission file for each data set."""
    path = _common.check_new(args.output)
    if path.suffix != ".zip":
        raise invalid("-o", "a .zip file for the task glue", args.output)
    if not Path(args.data).is_dir():
        raise invalid("--data", "the folder of all data sets", args.data)
    runs = run_folders(args.model)
    rows, notes = {}, []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name, data in GLUE.items():
            if name == "xnli":
                if name in runs:
                    notes.append("xnli: no part of GLUE, its run is left out")
                continue
            source = runs.get("mnli" if name == "ax" else name, (None,))[0]
            place = folder_in(name, args.data)
            if place is None:
                if name in runs:
                    raise invalid(
                        "--data",
                        f"a folder that holds a test file of {name}, of which "
                        "there is a run",
                        args.data,
                    )
                notes.append(f"{name}: no test file, left out")
                continue
            task = TASKS[name]
            options = _tasks.options_of(args, task)
            model = source and _tasks.model_of(task, source)
            for split, file in data.submission.items():
                one = task.read(place, split, **options)
                notes += one["notes"]
                if model is None:
                    found, note = _commonest(task, place, options, one)
                    notes.append(f"{name}: no run, {note}")
                else:
                    found = _tasks.predictions_of(
                        task, [model], one, args.batch_size, options
                    )
                task.write(one, found, folder / file, **options)
                rows[file] = len(one["ids"])
        if not rows:
            raise invalid(
                "--data", "a folder that holds a test file of GLUE", args.data
            )
        with (
            _common.new_file(path) as staging,
            zipfile.ZipFile(staging, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            for file in rows:
                archive.write(folder / file, file)
    _common.print_table([("file", "rows"), *rows.items()])
    for note in notes:
        print(f"note: {note}")
    print(f"written: {path}")
    return {"rows": rows, "notes": notes, "output": str(path)}


def _commonest(task, place, options, rows):
    """The answer of the paper for WNLI: the commonest label of all rows."""
    count = len(rows["ids"])
    if task.name == "ax":
        return {"labels": [""], "predicted": ["entailment"] * count}, (
            "entailment written for all rows"
        )
    y = task.read(place, "train", **options)["y"]
    if isinstance(y[0], float):
        value = float(np.mean(y))
        return {"labels": None, "scores": [value] * count}, (
            f"the mean {value:.3f} written for all rows"
        )
    label = Counter(y).most_common(1)[0][0]
    return {"labels": [label], "predicted": [label] * count}, (
        f"the commonest label {label} written for all rows"
    )
