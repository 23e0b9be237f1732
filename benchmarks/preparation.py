"""Text to shards and to batches, against google-research/bert.

Regime: one core for preparing, text of one sentence a line in both; the peer
is `create_pretraining_data.py` at dupe_factor 1 and its other defaults, called
as functions in this process (its import of TensorFlow is turned to the
version 1 interface). It keeps everything in memory, so it gets a smaller file
of the same text; both figures are megabytes of text per second, from the file
to written records. The sides alternate; medians over the rounds. The memory
is the peak of a process of its own. The pipeline is compared with the tokens
that training steps of bert_tiny take from batches in memory, on all cores;
the share of waiting is how much longer the same steps take on the pipeline.

    python benchmarks/preparation.py --data DIR --peer DIR [--rounds 5]
        [--megabytes 16] [--peer-megabytes 0.5] [--memory-gigabytes 2]

--data: vocab/bert-base-uncased-vocab.txt, text_en/wikitext-2/*.txt and
pretraining/wikitext2_valid_sentences.txt. --peer: create_pretraining_data.py
and tokenization.py of https://github.com/google-research/bert, not part of
this project. The last line of the output is JSON.
"""

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path

GOALS = {
    "text to shards / create_pretraining_data.py": 30,
    "text to shards / tokenizer alone": 0.4,
    "peak memory in GB": 1.5,
    "from shards / tokens of bert_tiny's step": 20,
    "from text / tokens of bert_tiny's step": 5,
    "share of waiting for input": 0.03,
    "fill at 512, wikitext": 0.98,
    "fill at 128, sentence pairs": 0.96,
}
AT_MOST = ("peak memory in GB", "share of waiting for input")

_MEMORY = """
import json, sys
from keras_bert.data import Preparation, prepare
from keras_bert.testing.peak_memory import peak_memory
from keras_bert.tokenizers import BertTokenizer
if __name__ == "__main__":
    tokenizer = BertTokenizer(sys.argv[2], lowercase=True)
    prepare(Preparation((sys.argv[1],)), tokenizer, sys.argv[3])
    print(peak_memory() / 1e3)
"""


def repeated(source, megabytes, path):
    """The text of a file over and over, whole documents; its size in MB."""
    text = source.read_bytes().rstrip() + b"\n\n"
    with open(path, "wb") as file:
        for _ in range(max(1, round(megabytes * 1e6 / len(text)))):
            file.write(text)
    return os.path.getsize(path) / 1e6


def cut(source, megabytes, path):
    """The first documents of a file; the size in MB."""
    documents = source.read_text("utf-8").split("\n\n")
    with open(path, "w", encoding="utf-8") as file:
        for document in documents:
            file.write(document + "\n\n")
            if file.tell() > megabytes * 1e6:
                break
    return os.path.getsize(path) / 1e6


def peer_module(folder, scratch):
    for name in ("create_pretraining_data.py", "tokenization.py"):
        text = (folder / name).read_text("utf-8")
        text = text.replace(
            "import tensorflow as tf", "import tensorflow.compat.v1 as tf"
        )
        (scratch / name).write_text(text, encoding="utf-8")
    sys.path.insert(0, str(scratch))
    import create_pretraining_data
    import tokenization

    create_pretraining_data.FLAGS(
        ["peer", "--input_file=a", "--output_file=b", "--vocab_file=c"]
    )
    return create_pretraining_data, tokenization


def prepare_rates(options, scratch):
    """MB/s of the peer, of ours and of our tokenizer, one list each."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    from keras_bert.data import Preparation
    from keras_bert.data import prepare
    from keras_bert.tokenizers import BertTokenizer

    peer, tokenization = peer_module(options.peer, scratch)
    source = options.data / "pretraining" / "wikitext2_valid_sentences.txt"
    vocabulary = options.data / "vocab" / "bert-base-uncased-vocab.txt"
    size = repeated(source, options.megabytes, scratch / "ours.txt")
    peer_size = cut(source, options.peer_megabytes, scratch / "peer.txt")
    tokenizer = BertTokenizer(str(vocabulary), lowercase=True)
    theirs = tokenization.FullTokenizer(str(vocabulary), do_lower_case=True)
    lines = (scratch / "ours.txt").read_text("utf-8").split("\n")
    lines = [line for line in lines if line]
    # The same work: the same ids of a thousand lines.
    for line, ids in zip(
        lines[:1000], tokenizer(lines[:1000]).to_list(), strict=True
    ):
        assert theirs.convert_tokens_to_ids(theirs.tokenize(line)) == ids

    def run_peer():
        instances = peer.create_training_instances(
            [str(scratch / "peer.txt")], theirs, 128, 1, 0.1, 0.15, 20,
            random.Random(12345),
        )  # fmt: skip
        peer.write_instance_to_example_files(
            instances, theirs, 128, 20, [str(scratch / "peer.tfrecord")]
        )

    def run_ours(number):
        preparation = Preparation((str(scratch / "ours.txt"),))
        prepare(preparation, tokenizer, scratch / f"shards{number}")

    def run_tokenizer():
        for first in range(0, len(lines), 1000):
            tokenizer(lines[first : first + 1000])

    rates = {"peer": [], "ours": [], "tokenizer": []}
    for number in range(options.rounds + 1):
        for name, run, megabytes in (
            ("peer", run_peer, peer_size),
            ("ours", lambda n=number: run_ours(n), size),
            ("tokenizer", run_tokenizer, size),
        ):
            start = time.perf_counter()
            run()
            rate = megabytes / (time.perf_counter() - start)
            if number:  # The first round warms up.
                rates[name].append(rate)
    return rates


def peak_memory(options, scratch):
    """GB of a process that prepares the whole text."""
    source = options.data / "pretraining" / "wikitext2_valid_sentences.txt"
    size = repeated(source, options.memory_gigabytes * 1e3, scratch / "m.txt")
    vocabulary = options.data / "vocab" / "bert-base-uncased-vocab.txt"
    script = scratch / "memory.py"
    script.write_text(_MEMORY)
    done = subprocess.run(
        [sys.executable, script, scratch / "m.txt", vocabulary, scratch / "m"],
        capture_output=True,
        text=True,
        check=True,
    )
    (scratch / "m.txt").unlink()
    return size / 1e3, float(done.stdout.split()[-1])


def pipeline(options, scratch):
    """Tokens per second of the pipeline and of bert_tiny's step, waiting."""
    import keras

    import keras_bert as kb
    from keras_bert.data import Preparation
    from keras_bert.data import prepare
    from keras_bert.data import pretraining_dataset

    source = options.data / "pretraining" / "wikitext2_valid_sentences.txt"
    vocabulary = options.data / "vocab" / "bert-base-uncased-vocab.txt"
    tokenizer = kb.BertTokenizer(str(vocabulary), lowercase=True)
    text = str(scratch / "pipeline.txt")
    repeated(source, options.megabytes, text)
    prepare(Preparation((text,)), tokenizer, scratch / "pipeline")

    def pass_over(files):
        start = time.perf_counter()
        tokens = 0
        for x, _, _ in pretraining_dataset(
            files, tokenizer
        ).as_numpy_iterator():
            tokens += int((x["padding_mask"] > 0).sum())
        return tokens / (time.perf_counter() - start)

    steps = options.steps
    dataset = pretraining_dataset(str(scratch / "pipeline"), tokenizer)
    in_memory = dataset.take(steps).cache()
    tokens = sum(
        int((x["padding_mask"] > 0).sum())
        for x, _, _ in in_memory.as_numpy_iterator()
    )
    model = kb.BertPretrainer(
        kb.BertBackbone.from_config_name(
            "bert_tiny", vocabulary_size=tokenizer.vocabulary_size()
        )
    )
    model.fit(in_memory, verbose=0)

    class Seconds(keras.callbacks.Callback):
        """From the first batch to the last, without start and end of fit."""

        def on_train_batch_end(self, batch, logs=None):
            if batch == 0:
                self.first = time.perf_counter()
            self.last = time.perf_counter()

    def train(data):
        seconds = Seconds()
        model.fit(data, verbose=0, callbacks=[seconds])
        return seconds.last - seconds.first

    figures = {"shards": [], "text": [], "step": [], "waiting": []}
    for number in range(options.rounds + 1):
        shards, from_text = (
            pass_over(str(scratch / "pipeline")),
            pass_over(text),
        )
        rested = train(in_memory)
        live = train(
            pretraining_dataset(str(scratch / "pipeline"), tokenizer).take(
                steps
            )
        )
        if number:
            figures["shards"].append(shards)
            figures["text"].append(from_text)
            figures["step"].append(tokens * (steps - 1) / steps / rested)
            figures["waiting"].append(max(0.0, (live - rested) / live))
    return figures


def fills(options):
    """Share of the rows that holds tokens."""
    from keras_bert.data import Corpus
    from keras_bert.data import PretrainingBatches
    from keras_bert.tokenizers import BertTokenizer

    vocabulary = options.data / "vocab" / "bert-base-uncased-vocab.txt"
    tokenizer = BertTokenizer(str(vocabulary), lowercase=True)
    folder = options.data / "text_en" / "wikitext-2"
    corpus = Corpus.from_files(str(folder / "*.txt"), tokenizer)
    return {
        f"fill at {length}, {name}": PretrainingBatches(
            corpus, tokenizer, length
        ).fill
        for length, name in ((512, "wikitext"), (128, "sentence pairs"))
    }


def spread(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.4g} ({low:.4g}-{high:.4g})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--peer", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=float, default=16)
    parser.add_argument("--peer-megabytes", type=float, default=0.5)
    parser.add_argument("--memory-gigabytes", type=float, default=2)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if options.part:
            part = {"rates": prepare_rates, "pipeline": pipeline}[options.part]
            print(json.dumps(part(options, Path(scratch))))
            return
        report(options, Path(scratch))


def own_process(part):
    """Threads and cores are those of a process: each part gets its own."""
    done = subprocess.run(
        [sys.executable, *sys.argv, "--part", part],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def report(options, scratch):
    rates = own_process("rates")
    flow = own_process("pipeline")
    gigabytes, peak = peak_memory(options, scratch)
    median = statistics.median
    found = {
        "text to shards / create_pretraining_data.py": median(
            [a / b for a, b in zip(rates["ours"], rates["peer"], strict=True)]
        ),
        "text to shards / tokenizer alone": median(
            [
                a / b
                for a, b in zip(rates["ours"], rates["tokenizer"], strict=True)
            ]
        ),
        "peak memory in GB": peak,
        "from shards / tokens of bert_tiny's step": median(
            [a / b for a, b in zip(flow["shards"], flow["step"], strict=True)]
        ),
        "from text / tokens of bert_tiny's step": median(
            [a / b for a, b in zip(flow["text"], flow["step"], strict=True)]
        ),
        "share of waiting for input": median(flow["waiting"]),
        **fills(options),
    }
    print("\nMB of text a second, one core: median (quartiles)")
    for name in rates:
        print(f"  {name:10} {spread(rates[name])}")
    print("tokens a second, all cores")
    for name in ("shards", "text", "step"):
        print(f"  {name:10} {spread(flow[name])}")
    print(f"memory of a corpus of {gigabytes:.2f} GB\n")
    for name, value in found.items():
        goal = GOALS[name]
        met = value <= goal if name in AT_MOST else value >= goal
        sign = "<=" if name in AT_MOST else ">="
        print(
            f"  {name:46} {value:8.3f}  goal {sign} {goal:g}  "
            f"{'met' if met else 'MISSED'}"
        )
    print(
        json.dumps(
            {
                "figures": found,
                "goals": GOALS,
                "rates": rates,
                "pipeline": flow,
                "corpus_gigabytes": gigabytes,
                "machine": platform.machine(),
                "cores": len(os.sched_getaffinity(0)),
                "versions": {
                    name: metadata.version(name)
                    for name in ("keras", "tensorflow", "tensorflow-text")
                },
                "backend": os.environ.get("KERAS_BACKEND", "tensorflow"),
            }
        )
    )


if __name__ == "__main__":
    main()
