"""`keras-bert prepare`: text to shards, here or on a cluster."""

import sys
import time

from keras_bert._errors import invalid
from keras_bert.cli import _common

HELP = (
    "Tokenize text of any size into shards for pretraining. Interrupted at "
    "any moment, the same command completes them."
)
EXAMPLE = (
    "keras-bert prepare corpus/*.txt -o shards --vocab vocab.txt --workers 8"
)


def add_arguments(parser):
    parser.add_argument(
        "files",
        metavar="FILES",
        nargs="+",
        help="files, patterns or folders; .gz, .bz2 and .zst are unpacked",
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="SHARDS", help="folder"
    )
    parser.add_argument("--vocab", required=True, help="vocabulary file")
    _common.add_case_arguments(parser)
    parser.add_argument(
        "--workers",
        type=_common.positive_int,
        default=1,
        help="processes (default: 1)",
    )
    parser.add_argument(
        "--shard",
        type=_part,
        default=(0, 1),
        metavar="I/N",
        help="only every N-th task, from I on (0 to N-1, or 1 to N): for any "
        "scheduler; the part that finishes last writes the index",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--shard-size",
        type=float,
        default=64,
        metavar="MB",
        help="text in a shard (default: 64)",
    )
    parser.add_argument(
        "--sampling",
        type=float,
        metavar="EXPONENT",
        help="languages (one a folder) are seen as often as their share to "
        "this power, 0.7 in multilingual BERT",
    )
    parser.add_argument(
        "--file-format",
        default="auto",
        help="lines, passages, wikitext, prose, jsonl or wiki (default: each "
        "file is looked at)",
    )
    parser.add_argument(
        "--text-field",
        default="text",
        help="field of a JSON record that holds the text (default: text)",
    )
    parser.add_argument(
        "--words",
        choices=("spaces", "jieba"),
        help="keep the words of text without spaces, for whole-word masking: "
        "as given by spaces, or found by jieba",
    )
    parser.add_argument(
        "--max-length",
        type=_common.positive_int,
        help="google: tokens of a record (default: 128); else longer "
        "sentences are cut into several",
    )
    beam = parser.add_argument_group("Apache Beam (extra `beam`)")
    beam.add_argument(
        "--runner",
        help="DirectRunner, FlinkRunner, SparkRunner, DataflowRunner",
    )
    beam.add_argument(
        "--runner-option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the pipeline, for instance "
        "direct_num_workers=4; may be repeated",
    )
    google = parser.add_argument_group(
        "--format google: records of the original, pairs and masks fixed"
    )
    google.add_argument(
        "--format", choices=("keras_bert", "google"), default="keras_bert"
    )
    google.add_argument(
        "--max-predictions",
        type=_common.positive_int,
        help="the most chosen tokens of a record (default: 15%% of the length)",
    )
    google.add_argument(
        "--duplicates",
        type=_common.positive_int,
        help="passes with other pairs and masks (default: 10)",
    )
    google.add_argument(
        "--masking",
        choices=("pieces", "whole_words", "spans"),
        help="what is chosen together (default: pieces)",
    )
    google.add_argument(
        "--mask-rate", type=float, help="share of tokens (default: 0.15)"
    )
    google.add_argument(
        "--short-seq-prob",
        type=float,
        help="share of shorter sequences (default: 0.1)",
    )


def _part(text):
    index, count = map(int, text.split("/"))
    return index, count


_part.__name__ = "I/N"


def run(args):
    from keras_bert import data

    tokenizer = _common.tokenizer_from(args.vocab, args.cased, args.uncased)
    google = _google_settings(args)
    if not args.shard_size > 0:
        raise invalid("--shard-size", "a size above 0", args.shard_size)
    preparation = data.Preparation(
        tuple(args.files),
        seed=args.seed,
        shard_bytes=max(1, round(args.shard_size * 1e6)),
        sampling=args.sampling,
        file_format=args.file_format,
        text_field=args.text_field,
        words=args.words,
        max_length=None if google else args.max_length,
        google=google,
    )
    started = time.monotonic()
    index = data.prepare(
        preparation,
        tokenizer,
        args.output,
        workers=args.workers,
        shard=args.shard,
        runner=args.runner,
        runner_options=args.runner_option,
        progress=_Progress(),
    )
    seconds = time.monotonic() - started
    if index is None:
        part = "{}/{}".format(*args.shard)
        print(
            f"Part {part} is done in {seconds:.1f} s. Other parts are "
            "missing; the last one writes index.json."
        )
        return {"output": args.output, "complete": False, "seconds": seconds}
    result = {
        "output": args.output,
        "complete": True,
        "shards": len(index["shards"]),
        "documents": index["documents"],
        "sentences": index["sentences"],
        "tokens": index["tokens"],
        "seconds": seconds,
    }
    if google:
        result["records"] = index["records"]
    print(
        f"{args.output}: {_common.counted(len(index['shards']), 'shard')}, "
        f"{_common.counted(index['documents'], 'document')}, "
        f"{index['tokens']:,} tokens"
        + (f", {index['records']:,} records" if google else "")
        + f" in {seconds:.1f} s."
    )
    for group in index.get("groups", ()):
        if len(index["groups"]) > 1:
            print(
                f"  {group['name']}: "
                f"{_common.counted(group['documents'], 'document')}, "
                f"{group['tokens']:,} tokens, each seen "
                f"{group['factor']:.3f} times an epoch"
            )
    for line in warnings_of(index):
        print(f"note: {line}", file=sys.stderr)
    return result


def _google_settings(args):
    from keras_bert.data import GoogleSettings

    given = {
        name: getattr(args, name)
        for name in (
            "max_predictions",
            "duplicates",
            "masking",
            "mask_rate",
            "short_seq_prob",
        )
        if getattr(args, name) is not None
    }
    if args.format == "google":
        return GoogleSettings(max_length=args.max_length or 128, **given)
    for name, value in given.items():
        raise invalid(
            f"--{name.replace('_', '-')}",
            "nothing without --format google: shards of documents are masked "
            "while a model trains (see `keras-bert pretrain`)",
            value,
        )
    return None


def warnings_of(index):
    """What is likely to be a mistake about the text."""
    if index["documents"] == 1:
        yield (
            "all text is one document, so there is no other document to draw "
            "a random next sentence from: pretraining goes without next "
            "sentences. Separate documents by blank lines."
        )
    elif index["documents"] == index["sentences"]:
        yield (
            "every document has one sentence, so every next sentence would "
            "be a random one. Separate documents, not sentences, by blank "
            "lines, or pretrain without next sentences."
        )
    few = min(entry["documents"] for entry in index["shards"])
    if len(index["shards"]) > 1 and few < 1000:
        yield (
            f"a shard has {few} documents only; random next sentences come "
            "from the same shard. A larger --shard-size gives more."
        )


class _Progress:
    """Shares done and the time left, at most every two seconds."""

    def __init__(self):
        self._start = self._shown = time.monotonic()

    def __call__(self, done, total):
        now = time.monotonic()
        if done == 0 or now - self._shown < 2:
            return
        self._shown = now
        left = (now - self._start) * (total - done) / done
        print(
            f"{done} of {total} tasks, about {left:.0f} s left",
            file=sys.stderr,
        )
