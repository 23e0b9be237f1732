"""`keras-bert vocab`: a WordPiece vocabulary from text files."""

import os
import sys
import time
from pathlib import Path

NAME = "vocab"
HELP = (
    "Train a WordPiece vocabulary on text files of any size. Writes "
    "tokenizer_config.json (case, accents) beside it."
)
EXAMPLE = "keras-bert vocab corpus/*.txt -o model/vocab.txt --size 30522"


def add_arguments(parser):
    from keras_bert.cli._common import positive_int

    parser.add_argument(
        "files",
        metavar="FILES",
        nargs="+",
        help="UTF-8 text files, patterns or folders, packed or not",
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="VOCAB",
        help="vocabulary file to write; in a folder it is named vocab.txt",
    )
    parser.add_argument(
        "--size",
        type=positive_int,
        default=30522,
        help="the most tokens (default: 30522)",
    )
    parser.add_argument(
        "--cased",
        action="store_true",
        help="keep case and accents (default: lower case, accents stripped)",
    )
    parser.add_argument(
        "--keep-accents",
        action="store_true",
        help="lower case, but with accents",
    )
    parser.add_argument(
        "--min-frequency",
        type=positive_int,
        default=2,
        help="how often a pair of pieces must occur to be merged (default: 2)",
    )
    parser.add_argument(
        "--sampling",
        type=float,
        metavar="EXPONENT",
        help="the words of a language (one a folder) count as often as its "
        "share to this power, 0.7 in multilingual BERT",
    )
    parser.add_argument(
        "--text-field",
        default="text",
        help="field of a JSON record that holds the text (default: text)",
    )
    parser.add_argument(
        "--layout",
        choices=("specials_first", "released"),
        default="specials_first",
        help=(
            "specials_first: special tokens are ids 0 to 4 (default); "
            "released: ids 0 and 100 to 103, as in the published vocabularies"
        ),
    )


def run(args):
    from keras_bert._errors import invalid
    from keras_bert.cli._common import check_new
    from keras_bert.tokenizers import BertTokenizer

    output = check_new(args.output)
    if output.is_dir() or args.output.endswith(("/", os.sep)):
        output = output / "vocab.txt"
    beside = output.parent / "tokenizer_config.json"
    if beside.exists():
        raise invalid(
            "-o",
            "a folder without the settings of another vocabulary (there is "
            f"{beside})",
            args.output,
        )
    if args.sampling is not None and not 0 <= args.sampling <= 1:
        raise invalid("--sampling", "an exponent from 0 to 1", args.sampling)
    start = time.monotonic()
    tokenizer = BertTokenizer.train(
        _texts(args.files, args.text_field, args.sampling),
        vocabulary_size=args.size,
        lowercase=not args.cased,
        strip_accents=False if args.keep_accents else None,
        minimum_frequency=args.min_frequency,
        layout=args.layout,
        progress=_Progress(),
        sampling=args.sampling,
    )
    tokenizer.save_to_preset(output.parent, vocabulary_file=output.name)
    seconds = time.monotonic() - start
    size = tokenizer.vocabulary_size()
    print(f"Wrote {output}: {size} tokens in {seconds:.1f} s.")
    if size < args.size:
        print(
            f"That is fewer than the {args.size} asked for: no other pair of "
            f"pieces occurs {args.min_frequency} times."
        )
    return {
        "vocabulary": str(output),
        "vocabulary_size": size,
        "lowercase": tokenizer.lowercase,
        "strip_accents": tokenizer.strip_accents,
        "files": [str(Path(file)) for file in args.files],
        "seconds": seconds,
    }


def _texts(files, text_field, sampling):
    """Paths of plain files, or the text of each language."""
    from keras_bert.data.documents import kind_of
    from keras_bert.data.documents import read_documents
    from keras_bert.data.filesystem import is_remote
    from keras_bert.data.text_files import check_groups
    from keras_bert.data.text_files import find_text_files
    from keras_bert.data.text_files import is_packed

    by_language = sampling is not None
    found = find_text_files(files)
    is_plain = not by_language and not any(
        is_packed(path) or is_remote(path) or kind_of(path) in ("jsonl", "wiki")
        for path, _ in found
    )
    if is_plain:
        return [path for path, _ in found]

    def text(paths):
        part, size = [], 0
        for document in read_documents(paths, text_field=text_field):
            part += document
            size += sum(map(len, document))
            if size > 1 << 20:
                yield "\n".join(part)
                part, size = [], 0
        yield "\n".join(part)

    groups = {}
    for path, group in found:
        groups.setdefault(group if by_language else "", []).append(path)
    if by_language:
        check_groups(len(groups), sampling)
    return {group: text(paths) for group, paths in groups.items()}


class _Progress:
    """Share of the bytes read and the time left, at most once a second."""

    def __init__(self):
        self.start = self.shown = time.monotonic()

    def __call__(self, done, total):
        now = time.monotonic()
        if now - self.shown < 1 or not done:
            return
        self.shown = now
        left = (now - self.start) * (total - done) / done
        print(
            f"counting words: {done / 1e6:.0f} of {total / 1e6:.0f} MB, "
            f"about {left:.0f} s left",
            file=sys.stderr,
        )
