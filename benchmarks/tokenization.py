"""WordPiece speed against `tokenizers` (Hugging Face) and KerasHub.

Regime: one core, batches of 1,000 lines, text in Python strings, ids out as
Python lists on both sides (in tf.data: batches of 1,000 through `map`). The
released uncased vocabulary for English and mixed text, the Chinese one for
Chinese. Ids are compared before anything is timed and the lines on which the
sides differ are counted (they differ by design where the peer differs from
the original). The sides alternate, so that a busy machine slows both; the
figures are medians over the rounds, with the spread from the lower to the
upper quartile. The column CPU is the ratio of the processor times: on a
machine that others use too, tf.data waits for the one core at every hand-over
between its threads, and only that ratio means something there.

The rows "tf.data limit" say how far any exact tokenizer could get inside
tf.data: on their left side text that was normalised beforehand goes through
the same pipeline with nothing in it but tf-text's WordPiece operation, and
becomes lists in the same way. Normalisation that costs nothing would give
that ratio to KerasHub; what is above it no tokenizer built on that operation
can reach, because reading strings from tf.data, WordPiece itself and
`RaggedTensor.to_list` take that time on either side.

    python benchmarks/tokenization.py --data DIR [--rounds 15] [--lines 5000]

DIR holds vocab/bert-base-{uncased,chinese}-vocab.txt and the text folders
text_en, text_zh, zh and messy. The last line of the output is JSON.
"""

import argparse
import json
import os
import platform
import statistics
import time
from importlib import metadata
from pathlib import Path

BATCH = 1000
GOALS = {
    "English, ids": 5,
    "Chinese, ids": 4,
    "messy, ids": 4,
    "English, offsets": 3,
    "Chinese, offsets": 3,
    "messy, offsets": 3,
    "English, KerasHub called": 25,
    "English, KerasHub tf.data": 6,
    "Chinese, KerasHub tf.data": 6,
    "messy, KerasHub tf.data": 6,
    "English, tf.data limit": None,
    "Chinese, tf.data limit": None,
    "messy, tf.data limit": None,
}


def one_core():
    """Before any of the libraries is imported."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.environ["RAYON_NUM_THREADS"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ["KERAS_BACKEND"] = "tensorflow"
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def lines_of(paths):
    for path in paths:
        text = path.read_bytes().decode("utf-8", "ignore")
        for line in text.split("\n"):
            if line.strip():
                yield line


def texts(data, count):
    """Name -> lines; short sources are repeated up to `count`."""
    chinese = json.loads((data / "zh/cmrc2018_trial.json").read_text("utf-8"))
    chinese = [
        paragraph["context"]
        for article in chinese["data"]
        for paragraph in article["paragraphs"]
    ]
    chinese += lines_of(sorted(data.glob("text_zh/*")))
    english = list(lines_of(sorted(data.glob("text_en/wikitext-2/*"))))
    messy = list(lines_of(sorted(data.glob("messy/*"))))
    result = {}
    for name, lines in (
        ("English", english),
        ("Chinese", chinese),
        ("messy", messy),
    ):
        times = -(-count // len(lines))
        result[name] = (lines * times)[:count]
    return result


def batches(lines):
    return [lines[i : i + BATCH] for i in range(0, len(lines), BATCH)]


def per_line(ids, starts, ends):
    return [
        (row, list(zip(start, end, strict=True)))
        for row, start, end in zip(ids, starts, ends, strict=True)
    ]


def compare(name, ours, theirs, parts, rounds):
    """Times both sides in turns and returns one row of the table."""
    regroup = per_line if "offsets" in name else None
    mine = [
        row
        for part in parts
        for row in (regroup(*ours(part)) if regroup else ours(part))
    ]
    other = [row for part in parts for row in theirs(part)]
    differ = sum(a != b for a, b in zip(mine, other, strict=True))
    size = sum(len(line.encode("utf-8", "ignore")) for p in parts for line in p)
    seconds = {"ours": [], "theirs": []}
    cpu = {"ours": [], "theirs": []}
    for number in range(rounds):
        sides = [("ours", ours), ("theirs", theirs)]
        for side, function in sides[:: 1 if number % 2 else -1]:
            start = time.perf_counter()
            start_cpu = time.process_time()
            for part in parts:
                function(part)
            seconds[side].append(time.perf_counter() - start)
            cpu[side].append(time.process_time() - start_cpu)
    ratios = [
        b / a for a, b in zip(seconds["ours"], seconds["theirs"], strict=True)
    ]
    low, _, high = statistics.quantiles(ratios, n=4)
    return {
        "name": name,
        "lines": len(mine),
        "lines_that_differ": differ,
        "ours_mb_s": size / statistics.median(seconds["ours"]) / 1e6,
        "theirs_mb_s": size / statistics.median(seconds["theirs"]) / 1e6,
        "ratio": statistics.median(ratios),
        "ratio_quartiles": [low, high],
        "cpu_ratio": statistics.median(cpu["theirs"])
        / statistics.median(cpu["ours"]),
        "goal": GOALS[name],
    }


def hugging_face(vocabulary):
    from tokenizers import BertWordPieceTokenizer

    peer = BertWordPieceTokenizer(str(vocabulary), lowercase=True)._tokenizer
    peer.no_padding()
    peer.no_truncation()

    def ids(lines):
        encoded = peer.encode_batch_fast(lines, add_special_tokens=False)
        return [e.ids for e in encoded]

    def offsets(lines):
        encoded = peer.encode_batch(lines, add_special_tokens=False)
        return [(e.ids, e.offsets) for e in encoded]

    return ids, offsets


def ours(vocabulary):
    from keras_bert.tokenizers import BertTokenizer

    tokenizer = BertTokenizer(vocabulary, lowercase=True)

    def ids(lines):
        return tokenizer(lines).to_list()

    def offsets(lines):
        # Three lists of lists; the peer gives one list of ids and one of
        # (start, end) per line.
        return [
            part.to_list() for part in tokenizer.tokenize_with_offsets(lines)
        ]

    return tokenizer, ids, offsets


def keras_hub_sides(vocabulary, tokenizer, lines):
    """(called on strings, in tf.data, the limit), each (ours, theirs)."""
    import keras_hub
    import tensorflow as tf

    peer = keras_hub.tokenizers.BertTokenizer(
        vocabulary=str(vocabulary), lowercase=True, strip_accents=True
    )

    def called(function):
        def run(lines):
            ids = function(lines)
            return ids.to_list() if hasattr(ids, "to_list") else ids

        return run

    def mapped(function, lines=lines):
        dataset = (
            tf.data.Dataset.from_tensor_slices(lines).batch(BATCH).map(function)
        )

        def run(_):
            return [row for ids in dataset for row in ids.to_list()]

        return run

    graph = tokenizer._wordpiece()
    normalised = graph.prepare(tf.constant(lines))
    theirs = mapped(peer)
    return (
        (called(tokenizer), called(peer)),
        (mapped(tokenizer), theirs),
        (mapped(graph.wordpiece.tokenize, normalised), theirs),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--lines", type=int, default=5000)
    args = parser.parse_args()
    one_core()

    rows = []
    for name, lines in texts(args.data, args.lines).items():
        kind = "chinese" if name == "Chinese" else "uncased"
        vocabulary = args.data / "vocab" / f"bert-base-{kind}-vocab.txt"
        tokenizer, ids, offsets = ours(vocabulary)
        peer_ids, peer_offsets = hugging_face(vocabulary)
        parts = batches(lines)
        for what, mine, theirs in (
            ("ids", ids, peer_ids),
            ("offsets", offsets, peer_offsets),
        ):
            rows.append(
                compare(f"{name}, {what}", mine, theirs, parts, args.rounds)
            )
        # A new iterator sets its graph up first, some 0.05 s here.
        many = lines * 4
        called, mapped, limit = keras_hub_sides(vocabulary, tokenizer, many)
        few = max(3, args.rounds // 3)
        if name == "English":
            rows.append(
                compare(f"{name}, KerasHub called", *called, parts, few)
            )
        rows.append(compare(f"{name}, KerasHub tf.data", *mapped, [many], few))
        rows.append(compare(f"{name}, tf.data limit", *limit, [many], few))

    print(
        f"{'':28} {'ours MB/s':>9} {'theirs':>7} {'ratio':>6} "
        f"{'quartiles':>13} {'CPU':>5} {'goal':>5} {'lines differ':>13}"
    )
    for row in rows:
        low, high = row["ratio_quartiles"]
        differ = f"{row['lines_that_differ']}/{row['lines']}"
        print(
            f"{row['name']:28} {row['ours_mb_s']:9.1f} "
            f"{row['theirs_mb_s']:7.2f} {row['ratio']:6.1f} "
            f"{low:6.1f}-{high:<6.1f} {row['cpu_ratio']:5.1f} "
            f"{row['goal'] or '-':>5} {differ:>13}"
        )
    names = ("tensorflow", "tensorflow-text", "tokenizers", "keras-hub")
    print(
        json.dumps(
            {
                "benchmark": "tokenization",
                "cpu": platform.processor() or platform.machine(),
                "python": platform.python_version(),
                "versions": {name: metadata.version(name) for name in names},
                "batch": BATCH,
                "rounds": args.rounds,
                "results": rows,
            }
        )
    )


if __name__ == "__main__":
    main()
