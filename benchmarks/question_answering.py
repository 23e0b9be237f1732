"""SQuAD: featurising against transformers, decoding, memory of training.

Featurising (one core): lists of questions and contexts to rows of at most 384
tokens with the columns of the answers. The peer is what the run_qa.py example
of transformers does in `Dataset.map`: the fast tokenizer on batches of 1,000
pairs with overflowing tokens and offsets, without padding (its best setting;
its default pads to 384 and is shown beside it), then the loop over offsets
that finds the answer. The peer's stride of 128 is an overlap, ours an advance,
so where a context needs several windows we make more of them. Questions with
one window must have equal ids and answers on both sides; how many do not is
printed (where the original, whose ids ours are, differs from the peer). Most
of our lead is that a context is tokenized once for all of its questions, eight
or so in these files as in SQuAD; the peer's example does it for each.

Decoding (one core): logits of 10,570 questions (as many as the dev set of
SQuAD 1.1 has) to n-best lists, the best answer and null odds. There is no
model: logits are random, so that nearly every window gives the most spans
that it can. Our own time includes making the windows.

Memory: bert_base, rows of 384, batches of 8, as `fit` trains it; peak of the
resident memory of the process.

    python benchmarks/question_answering.py featurise --data DIR [--rounds 7]
    python benchmarks/question_answering.py decode --data DIR
    KERAS_BACKEND=jax python benchmarks/question_answering.py memory --data DIR

DIR holds squad/ and vocab/bert-base-uncased-vocab.txt. The last line of the
output is JSON.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import time
from importlib import metadata
from pathlib import Path

LENGTH, STRIDE, BATCH = 384, 128, 1000
FILES = ("train-v2.0-part.json", "xquad.en.json", "dev-v2.0-small.json")
DEV_QUESTIONS = 10570


def one_core():
    """Before any of the libraries is imported."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.environ["RAYON_NUM_THREADS"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ["KERAS_BACKEND"] = "tensorflow"
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def questions_of(data):
    """Questions, contexts and first answers of all files."""
    from keras_bert.tasks import squad

    x, y = ([], []), []
    for name in FILES:
        rows = squad.read(data / "squad" / name)
        for part, more in zip(x, rows["x"], strict=True):
            part.extend(more)
        y += [
            gold[0] if gold else {"text": "", "start": -1} for gold in rows["y"]
        ]
    return *x, y


def ours(tokenizer, questions, contexts, answers):
    """Per row its ids and answer columns, as arrays of batches of rows."""
    from keras_bert.models import BertQuestionAnswererPreprocessor

    preprocessor = BertQuestionAnswererPreprocessor(
        tokenizer, sequence_length=LENGTH, doc_stride=STRIDE
    )
    pairs = [(answer["text"], answer["start"]) for answer in answers]

    def run():
        windows = preprocessor.windows(questions, contexts)
        starts, ends = preprocessor.labels(windows, contexts, pairs)
        batches = [
            windows.rows.batch(range(i, min(i + BATCH, len(windows.rows))))
            for i in range(0, len(windows.rows), BATCH)
        ]
        return windows, batches, starts, ends

    return run


def theirs(vocabulary, questions, contexts, answers, padding):
    """prepare_train_features of run_qa.py, on batches of 1,000 pairs."""
    from transformers import BertTokenizerFast

    tokenizer = BertTokenizerFast(str(vocabulary), do_lower_case=True)

    def features(begin):
        part = slice(begin, begin + BATCH)
        found = tokenizer(
            questions[part],
            contexts[part],
            truncation="only_second",
            max_length=LENGTH,
            stride=STRIDE,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            padding=padding,
        )
        owners = found.pop("overflow_to_sample_mapping")
        offsets = found.pop("offset_mapping")
        columns = []
        for row, owner in enumerate(owners):
            answer = answers[begin + owner]
            if answer["start"] < 0:
                columns.append((0, 0))
                continue
            sequence = found.sequence_ids(row)
            first = sequence.index(1)
            last = len(sequence) - 1
            while sequence[last] != 1:
                last -= 1
            start = answer["start"]
            end = start + len(answer["text"])
            if offsets[row][first][0] > start or offsets[row][last][1] < end:
                columns.append((0, 0))
                continue
            while first < len(sequence) and offsets[row][first][0] <= start:
                first += 1
            while offsets[row][last][1] >= end:
                last -= 1
            columns.append((first - 1, last + 1))
        return found["input_ids"], owners, columns

    def run():
        return [features(i) for i in range(0, len(questions), BATCH)]

    return run


def differing(mine, other):
    """How many questions with one window on both sides differ."""
    windows, batches, starts, ends = mine
    rows = [row for batch in batches for row in batch["token_ids"].tolist()]
    found = {}
    for number, row in enumerate(rows):
        length = int(windows.rows.lengths[number])
        columns = (int(starts[number]), int(ends[number]))
        found.setdefault(int(windows.question[number]), []).append(
            (row[:length], columns)
        )
    peers = {}
    for part, (ids, owners, columns) in enumerate(other):
        for row, owner, column in zip(ids, owners, columns, strict=True):
            peers.setdefault(part * BATCH + owner, []).append((row, column))
    single = [key for key in found if len(found[key]) == len(peers[key]) == 1]
    return len(single), sum(found[key] != peers[key] for key in single)


def featurise(args):
    one_core()
    from keras_bert.tokenizers import BertTokenizer

    vocabulary = args.data / "vocab/bert-base-uncased-vocab.txt"
    given = questions_of(args.data)
    tokenizer = BertTokenizer(str(vocabulary), lowercase=True)
    sides = {
        "ours": ours(tokenizer, *given),
        "theirs": theirs(vocabulary, *given, False),
        "theirs, padded": theirs(vocabulary, *given, "max_length"),
    }
    results = {name: run() for name, run in sides.items()}
    single, differ = differing(results["ours"], results["theirs"])
    if differ > single / 100:
        raise SystemExit(f"{differ} of {single} questions differ")
    rows = {
        name: (
            len(found[0].rows)
            if name == "ours"
            else sum(len(part[0]) for part in found)
        )
        for name, found in results.items()
    }
    del results
    seconds = {name: [] for name in sides}
    for number in range(args.rounds):
        for name in list(sides)[:: 1 if number % 2 else -1]:
            start = time.process_time()
            sides[name]()
            seconds[name].append(time.process_time() - start)
    result = {
        "questions": len(given[0]),
        "with_one_window": single,
        "differ": differ,
        "rows": rows,
        "seconds": {k: statistics.median(v) for k, v in seconds.items()},
    }
    for name in list(sides)[1:]:
        ratios = [
            b / a for a, b in zip(seconds["ours"], seconds[name], strict=True)
        ]
        low, middle, high = statistics.quantiles(ratios, n=4)
        result[f"ratio to {name}"] = [middle, low, high]
        print(
            f"{name}: {middle:.2f} times our processor time "
            f"({low:.2f}-{high:.2f}; goal 3)"
        )
    return result


def decode(args):
    one_core()
    import keras
    import numpy as np

    from keras_bert.models import BertBackbone
    from keras_bert.models import BertQuestionAnswerer
    from keras_bert.models import BertQuestionAnswererPreprocessor
    from keras_bert.tasks.table import TASKS
    from keras_bert.tokenizers import BertTokenizer

    questions, contexts, _ = questions_of(args.data)
    times = -(-DEV_QUESTIONS // len(questions))
    questions, contexts = (
        (part * times)[:DEV_QUESTIONS] for part in (questions, contexts)
    )
    tokenizer = BertTokenizer(
        str(args.data / "vocab/bert-base-uncased-vocab.txt"), lowercase=True
    )
    model = BertQuestionAnswerer(
        BertBackbone(
            vocabulary_size=tokenizer.vocabulary_size(), num_layers=1,
            num_heads=1, hidden_dim=2, intermediate_dim=2,
        ),
        preprocessor=BertQuestionAnswererPreprocessor(
            tokenizer, sequence_length=LENGTH, doc_stride=STRIDE
        ),
    )  # fmt: skip
    random = np.random.default_rng(1).normal(size=(2, 64, LENGTH))

    def logits(rows):
        count, width = rows["token_ids"].shape
        return {
            key: random[number, :count, :width].astype("float32")
            for number, key in enumerate(("start", "end"))
        }

    model.predict_on_batch = logits
    rows = {
        "x": (questions, contexts),
        "ids": [str(number) for number in range(len(questions))],
    }
    seconds = []
    for _ in range(args.rounds):
        start = time.process_time()
        found = TASKS["squad-v2"].predict(model, rows)
        seconds.append(time.process_time() - start)
    kept = statistics.mean(len(one) for one in found["nbest"].values())
    median = statistics.median(seconds)
    print(
        f"{DEV_QUESTIONS:,} questions: {median:.1f} s of one core "
        f"(goal: under 15), {kept:.1f} answers kept for each"
    )
    keras.utils.clear_session()
    return {"questions": DEV_QUESTIONS, "seconds": median, "goal": 15}


def memory(args):
    import keras

    from keras_bert.models import BertBackbone
    from keras_bert.models import BertQuestionAnswerer
    from keras_bert.models import BertQuestionAnswererPreprocessor
    from keras_bert.tokenizers import BertTokenizer

    questions, contexts, answers = questions_of(args.data)
    tokenizer = BertTokenizer(
        str(args.data / "vocab/bert-base-uncased-vocab.txt"), lowercase=True
    )
    # Long contexts first: every row is full.
    order = sorted(range(len(contexts)), key=lambda i: -len(contexts[i]))[:24]
    model = BertQuestionAnswerer(
        BertBackbone.from_config_name(
            "bert_base", vocabulary_size=tokenizer.vocabulary_size()
        ),
        preprocessor=BertQuestionAnswererPreprocessor(
            tokenizer, sequence_length=LENGTH, doc_stride=STRIDE
        ),
    )
    started = time.monotonic()
    history = model.fit(
        tuple([part[i] for i in order] for part in (questions, contexts)),
        [answers[i] for i in order],
        batch_size=8,
        verbose=2,
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    backend = keras.config.backend()
    print(f"{backend}: peak {peak:.2f} GiB (goal: under 8)")
    return {
        "backend": backend,
        "steps": int(keras.ops.convert_to_numpy(model.optimizer.iterations)),
        "loss": history.history["loss"][-1],
        "seconds": time.monotonic() - started,
        "peak_gib": peak,
        "goal_gib": 8,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parts = {"featurise": featurise, "decode": decode, "memory": memory}
    parser.add_argument("part", choices=tuple(parts))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    result = parts[args.part](args)
    versions = {
        name: metadata.version(name)
        for name in ("keras", "tensorflow", "tensorflow-text", "transformers")
    }
    print(
        json.dumps(
            {
                "part": args.part,
                **result,
                "versions": versions,
                "machine": f"{platform.processor()}, {os.cpu_count()} CPUs",
            }
        )
    )


if __name__ == "__main__":
    main()
