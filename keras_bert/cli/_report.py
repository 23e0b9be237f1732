"""Figures of a task on the screen and in a report for people."""

import contextlib
import io
import json

from keras_bert.cli import _common

# Figures in a line; more of them stand below each other.
_WIDEST = 8

# Examples shown in report.md; misread.jsonl holds all of them.
_EXAMPLES = 10


def print_figures(task, figures, first=None):
    """One row per split: the first holds the others as dicts.

    `first` is its name, where it is not the first of the task.
    """
    print()
    rows = []
    header = _common.ACCURACY_HEADER
    for name, one in splits(task, figures, first).items():
        if isinstance(one.get("accuracy"), dict):
            rows.append(
                _common.accuracy_row(
                    "accuracy (chance: the largest class)", one["accuracy"]
                )
            )
        else:
            plain = {
                key: value
                for key, value in one.items()
                if isinstance(value, int | float)
            }
            rows.append((name, *plain.values()))
            header = ("held out", *plain)
    table = [header, *rows]
    if len(header) > _WIDEST:
        table = list(zip(*table, strict=True))
    _common.print_table(table)
    for name, one in splits(task, figures, first).items():
        if "types" in one:
            _print_types(name, one["types"])
        if "tags_not_in_training" in one:
            tags = one["tags_not_in_training"]
            listed = ", ".join(f"{tag} ({n})" for tag, n in tags.items())
            print(f"\ntags in {name} that training has not: {listed}")


def _print_types(name, types):
    """Figures of each type of entity."""
    header = (name, *next(iter(types.values()), ()))
    rows = [(kind, *figures.values()) for kind, figures in types.items()]
    print()
    _common.print_table([header, *rows])


def splits(task, figures, first=None):
    """Name of a split -> its own figures."""
    others = {name: figures[name] for name in task.dev if name in figures}
    own = {key: value for key, value in figures.items() if key not in others}
    return {first or task.dev[0]: own, **others}


def run_line(record, number, total):
    """One run in one line."""
    recipe = record["recipe"]
    return (
        f"run {number} of {total}: rate {recipe['learning_rate']:g}, batch "
        f"{recipe['batch_size']}, {record['epochs']} epochs, seeds "
        f"{record['head_seed']} (head) and {record['data_seed']} (data): "
        f"{record['score']:.4f}"
        + (" (failed: no better than the commonest label)"
           if record["failed"] else "")
    )  # fmt: skip


def print_summary(task, summary):
    """Mean, deviation, best and failures per recipe, the best mean first."""
    rows = [
        ("rate", "batch", "epochs", "runs", f"mean {task.metric}", "std",
         "best", "failed")
    ]  # fmt: skip
    for one in sorted(summary, key=lambda one: -one["mean"]):
        recipe = one["recipe"]
        rows.append(
            (
                f"{recipe['learning_rate']:g}",
                recipe["batch_size"],
                recipe["epochs"],
                one["runs"],
                f"{one['mean']:.4f}",
                "" if one["std"] is None else f"{one['std']:.4f}",
                f"{one['best']:.4f}",
                one["failed"],
            )
        )
    _common.print_table(rows, "all runs")


def write_readable(task, result, examples, folder):
    """report.md of a run folder."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        print_figures(task, result["dev"])
        print_summary(task, result["summary"])
    parts = [
        f"# {task.name}",
        f"{examples:,} rows to learn from, model "
        f"{result['settings']['model']}; "
        f"{result['epochs']} epochs, {result['steps']:,} updates in "
        f"{result['seconds']:.0f} s. The headline figure is {task.metric}: "
        f"**{result['score']:.4f}**.",
        "```\n" + shown.getvalue().strip("\n") + "\n```",
    ]
    notes = [*result["heads"], *result["notes"]]
    if notes:
        parts.append("## Notes\n\n" + "\n".join(f"- {one}" for one in notes))
    confusion = folder / "confusion.tsv"
    if confusion.is_file():
        rows = [
            line.split("\t")
            for line in confusion.read_text("utf-8").rstrip("\n").split("\n")
        ]
        rows.insert(1, ["---"] * len(rows[0]))
        table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
        parts.append("## Confusion\n\n" + table)
    misread = folder / "misread.jsonl"
    if misread.is_file():
        lines = misread.read_text("utf-8").rstrip("\n").split("\n")
        found = [json.loads(line) for line in lines if line]
        parts.append(
            f"## Misread\n\n{len(found):,} examples, all in misread.jsonl. "
            "The worst:\n\n" + "\n".join(map(_example, found[:_EXAMPLES]))
        )
    path = folder / "report.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _example(line):
    cells = [
        f"{key}: {value:.3f}" if isinstance(value, float) else f"{key}: {value}"
        for key, value in line.items()
    ]
    return "- " + "; ".join(" ".join(cell.split()) for cell in cells)
