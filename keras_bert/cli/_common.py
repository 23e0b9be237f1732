"""What several verbs share: tokenizers, folders, tables."""

import contextlib
import json
import shutil
from pathlib import Path

from keras_bert._errors import invalid
from keras_bert.data.filesystem import write_text


def add_case_arguments(parser):
    case = parser.add_mutually_exclusive_group()
    case.add_argument(
        "--cased", action="store_true", help="the vocabulary keeps case"
    )
    case.add_argument(
        "--uncased", action="store_true", help="the vocabulary is lower case"
    )


def tokenizer_from(vocab, cased, uncased):
    """A tokenizer from a vocabulary file and what stands beside it."""
    from keras_bert.tokenizers import BertTokenizer

    path = Path(vocab)
    if not path.is_file():
        raise invalid("--vocab", "an existing vocabulary file", vocab)
    if cased or uncased:
        return BertTokenizer(str(path), lowercase=uncased)
    settings = path.parent / "tokenizer_config.json"
    if not settings.is_file():
        raise invalid(
            "--vocab",
            "a tokenizer_config.json beside the file, or --cased or --uncased",
            vocab,
        )
    settings = json.loads(settings.read_text())
    return BertTokenizer(
        str(path),
        lowercase=settings.get("do_lower_case", True),
        strip_accents=settings.get("strip_accents"),
    )


def check_new(path, argument="-o"):
    """Refuses an output that exists, before any work is done."""
    path = Path(path)
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise invalid(argument, "a new path or an empty folder", str(path))
    for parent in path.absolute().parents:
        if parent.is_file():
            raise invalid(argument, f"a path whose {parent} is a folder", path)
    return path


def check_seed(seed, argument="--seed"):
    """Refuses what no backend takes as a seed."""
    if not 0 <= seed < 2**32:
        raise invalid(argument, "an integer from 0 to 2**32 - 1", seed)


@contextlib.contextmanager
def new_folder(path, argument="-o"):
    """A folder that appears whole under its name, or not at all."""
    path = check_new(path, argument)
    path.parent.mkdir(parents=True, exist_ok=True)
    staging = path.with_name(path.name + ".partial")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir()
    try:
        yield staging
        if path.is_dir():
            path.rmdir()
        staging.rename(path)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise


@contextlib.contextmanager
def new_file(path, argument="-o"):
    """A file that appears whole under its name, or not at all."""
    path = check_new(path, argument)
    path.parent.mkdir(parents=True, exist_ok=True)
    staging = path.with_name(path.name + ".partial")
    try:
        yield staging
        staging.rename(path)
    except BaseException:
        staging.unlink(missing_ok=True)
        raise


def positive_int(text):
    value = int(text)
    if value < 1:
        raise ValueError
    return value


positive_int.__name__ = "positive integer"


def counted(number, noun):
    """ "1 document", "2,000 documents"."""
    return f"{number:,} {noun}" + "s" * (number != 1)


def print_table(rows, title=None):
    """Rows of cells, columns aligned; the first row is the header."""
    rows = [[_shown(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if title:
        print(f"\n{title}")
    for number, row in enumerate(rows):
        line = "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True)
        )
        print("  " + line.rstrip())
        if number == 0:
            print("  " + "  ".join("-" * width for width in widths))


def accuracy_row(name, result):
    return (
        name,
        f"{result['value']:.3f}",
        f"{result['low']:.3f}-{result['high']:.3f}",
        f"{result['chance']:.3f}",
        f"{result['examples']:,}",
        result["verdict"],
    )


ACCURACY_HEADER = (
    "held out", "value", "95% interval", "chance", "examples", "verdict",
)  # fmt: skip


def _shown(cell):
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def write_json(path, result):
    """Replaces the file as a whole; a kill leaves the old or the new."""
    write_text(path, json.dumps(result, indent=2) + "\n")
