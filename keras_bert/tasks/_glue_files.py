"""Where the files of GLUE and XNLI lie in the folders of the downloads."""

from pathlib import Path

from keras_bert._errors import invalid
from keras_bert.tasks._glue_layouts import GLUE
from keras_bert.tasks._glue_layouts import lines_of

# As Microsoft publishes MRPC. Its training file holds the dev rows as well:
# which they are stands in a file of its own, under either of two names.
_MSR = {"train": "msr_paraphrase_train.txt", "test": "msr_paraphrase_test.txt"}
_DEV_IDS = ("dev_ids.tsv", "mrpc_dev_ids.tsv")


def find(task, folder, split, language=None):
    """The file of one split in the folder of a data set.

    Of MRPC, where there is no dev.tsv but a list of the pairs that make it
    up, the file of dev is the training file; see `part_of`.
    """
    folder = Path(folder)
    if task == "xnli":
        return _find_xnli(folder, split, language)
    names = _file_names(task, split)
    found = next((folder / n for n in names if (folder / n).is_file()), None)
    if found is None and (task, split) == ("mrpc", "dev"):
        if _dev_ids_in(folder) is not None:
            return find(task, folder, "train")
        names = (*names, *_DEV_IDS)
    if found is None:
        wanted = f"a folder with {' or '.join(names)}"
        raise invalid("data", wanted, str(folder))
    return found


def folder_in(task, data):
    """The folder of a data set in that of all of them, or None.

    It is the one that holds what is to be predicted: AX lies in a folder of
    its own, or in that of MNLI.
    """
    wanted = [name for split in GLUE[task].submission
              for name in _file_names(task, split)]  # fmt: skip
    for name in GLUE[task].folders:
        folder = Path(data) / name
        if any((folder / one).is_file() for one in wanted):
            return folder
    return None


def part_of(task, path, split):
    """Which rows of a file of `find` belong to a split.

    Returns `None` for all, else a function (cells) -> bool. Where the dev
    rows of MRPC stand in the training file, they are the pairs of ids (#1 ID,
    #2 ID) that dev_ids.tsv lists: 408 of 4,076 rows.
    """
    names = _file_names(task, "train")
    if task != "mrpc" or split not in ("train", "dev") or (
        path.name not in names
    ):  # fmt: skip
        return None
    listed = _dev_ids_in(path.parent)
    # A train.tsv beside a dev.tsv has been parted already.
    parted = path.name == "train.tsv" and (path.parent / "dev.tsv").is_file()
    if listed is None or parted:
        return None
    pairs = set()
    for line, cells in lines_of(listed):
        if len(cells) != 2:
            raise invalid(
                "data",
                f"2 columns, #1 ID and #2 ID, in line {line} of {listed}",
                f"{len(cells)} columns",
            )
        pairs.add(tuple(cell.strip() for cell in cells))
    return lambda cells: (tuple(cells[1:3]) in pairs) == (split == "dev")


def _dev_ids_in(folder):
    paths = (folder / name for name in _DEV_IDS)
    return next((path for path in paths if path.is_file()), None)


def _file_names(task, split):
    if split == "diagnostic":
        return ("diagnostic.tsv", "AX.tsv", "diagnostic-full.tsv")
    if task == "mrpc" and split in _MSR:
        return (f"{split}.tsv", _MSR[split])
    return (f"{split}.tsv",)


def _find_xnli(folder, split, language):
    """XNLI's files, in a folder of one's own or as its two packages unpack."""
    pattern, places = f"xnli.{split}.tsv", (folder, folder / "XNLI-1.0")
    if split == "train":
        pattern = f"multinli.train.{language or '*'}.tsv"
        places = (
            folder,
            folder / "multinli",
            folder / "XNLI-MT-1.0" / "multinli",
        )
    found = next(filter(None, (sorted(p.glob(pattern)) for p in places)), [])
    if len(found) == 1:
        return found[0]
    raise invalid(
        "language" if found else "data",
        f"one file {pattern} in {folder}",
        [path.name for path in found],
    )
