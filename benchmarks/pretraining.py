"""Real learning: bert_mini from scratch against transformers.

Both sides start from the same weights (ours, converted), read the same
batches in the same order (masked pairs, one pair a row) and
have the same recipe: AdamW with bias correction, decay 0.01 except on biases
and LayerNorm, epsilon 1e-6, clip 1.0, linear warm-up over 10% of the steps and
decay to 0, the same dropout, float32 (bfloat16 products with `--autocast`). The
peer is `BertForPreTraining` of transformers under torch; its attention and
torch.compile are chosen by trying them first. Held-out loss is the mean over
all masked tokens of text that neither side has seen, under masks that never
change. It counts only if both sides come well below the unigram entropy of
that text: what a model that knows only how frequent each token is can reach.

    python benchmarks/pretraining.py --data DIR --autocast [--steps 1000]
    python benchmarks/pretraining.py --data DIR --tiny

DIR holds text_en (wikitext-2 valid and two books); the documentation inside
Python comes with it. KERAS_BACKEND chooses our backend (torch). The sides take
turns, seed by seed, so that a busy machine slows both. The time of a side is
that of all its steps, batches included, without the first two (compilation,
reported apart). The last line of the output is JSON.
"""

import argparse
import json
import math
import os
import platform
import statistics
import tempfile
import time
from importlib import metadata
from pathlib import Path

from pretraining_peer import WARM_STEPS
from pretraining_peer import best_settings
from pretraining_peer import held_out_data
from pretraining_peer import peer
from pretraining_peer import peer_loss
from pretraining_peer import theirs
from pretraining_peer import training_data

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# Goals: share of the peer's time; nats below the unigram entropy.
TIME_RATIO, BELOW_UNIGRAM = 0.6, 0.8
PIECE = 50


def documents(data, tiny):
    """(training, held out): every tenth document is held out."""
    from keras_bert.data import python_documentation
    from keras_bert.data import read_documents

    files = sorted(
        path
        for path in (data / "text_en").rglob("*")
        if path.is_file()
        and path.name not in ("sample_text.txt", "README.md")
        and "test" not in path.name
    )
    found = []
    for file in files:
        for document in read_documents([str(file)]):
            document = list(document)
            # A book is one document; pieces of it can be held out.
            found += [
                document[first : first + PIECE]
                for first in range(0, len(document), PIECE)
            ]
    found += [list(document) for document in python_documentation()]
    if tiny:
        found = found[::40]
    held_out = found[::10]
    training = [one for place, one in enumerate(found) if place % 10]
    print(
        f"{', '.join(file.name for file in files)} and the documentation in "
        f"Python: {len(training):,} documents, {len(held_out):,} held out",
        flush=True,
    )
    return training, held_out


def prepare(args, folder):
    """Tokenizer and both corpora."""
    import keras_bert as kb

    training, held_out = documents(args.data, args.tiny)
    text = folder / "corpus.txt"
    text.write_text("\n".join(line for one in training for line in one))
    tokenizer = kb.BertTokenizer.train(
        [str(text)], vocabulary_size=args.vocabulary, lowercase=True
    )
    corpora = [
        kb.data.Corpus.from_documents(part, tokenizer)
        for part in (training, held_out)
    ]
    print(
        f"{tokenizer.vocabulary_size():,} tokens in the vocabulary, "
        f"{corpora[0].num_tokens:,} to learn from, "
        f"{corpora[1].num_tokens:,} held out",
        flush=True,
    )
    return tokenizer, corpora


def new_model(args, tokenizer, seed):
    import keras

    import keras_bert as kb

    keras.utils.set_random_seed(seed)
    backbone = kb.BertBackbone.from_config_name(
        args.config,
        vocabulary_size=tokenizer.vocabulary_size(),
        initializer_range=args.initializer_range,
        dropout=args.dropout,
        attention_dropout=args.dropout,
    )
    return kb.BertPretrainer(backbone, tokenizer)


def ours(args, tokenizer, corpora, seed, folder):
    """(held-out loss, seconds of the steps, seconds of the first ones)."""
    import keras

    import keras_bert as kb

    model = new_model(args, tokenizer, seed)
    model.compile(learning_rate=kb.WarmupDecay(args.rate, 0.1, args.steps))
    ends = [time.perf_counter()]

    def note(batch, logs):
        # The step is done when its loss can be read.
        float(logs["loss"])
        ends.append(time.perf_counter())

    model.fit(
        training_data(args, tokenizer, corpora[0], seed),
        verbose=0,
        callbacks=[keras.callbacks.LambdaCallback(on_train_batch_end=note)],
    )
    held_out = held_out_data(args, tokenizer, corpora[1])
    scores = model.evaluate(held_out, verbose=0, return_dict=True)
    loss = math.log(scores["mask_ids_perplexity"])
    return loss, ends[-1] - ends[WARM_STEPS], ends[WARM_STEPS] - ends[0]


def same_start(args, tokenizer, corpora, model, folder):
    """Both sides have the same held-out loss before the first step."""
    held_out = held_out_data(args, tokenizer, corpora[1])
    scores = model.evaluate(held_out, verbose=0, return_dict=True)
    mine = math.log(scores["mask_ids_perplexity"])
    _, other = peer(folder, "eager", False)
    other = peer_loss(args, other, tokenizer, corpora[1])
    print(f"before training: {mine:.5f} ours, {other:.5f} theirs")
    if abs(mine - other) > (1e-2 if args.autocast else 1e-3):
        raise SystemExit("the sides differ before the first step")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--config", default="bert_mini")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--length", type=int, default=32)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--initializer-range", type=float, default=0.02)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--autocast", action="store_true")
    parser.add_argument("--tiny", action="store_true", help="proves it runs")
    args = parser.parse_args()
    if args.tiny:
        args.steps, args.seeds, args.vocabulary = 8, 2, 500
        args.config, args.batch, args.length = "bert_tiny", 4, 64
    os.environ.setdefault("OMP_NUM_THREADS", str(args.threads))
    import keras
    import torch

    import keras_bert as kb

    torch.set_num_threads(args.threads)
    if args.autocast:
        keras.config.set_dtype_policy("mixed_bfloat16")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        tokenizer, corpora = prepare(args, folder)
        level = kb.data.dataset_level(
            held_out_data(args, tokenizer, corpora[1])
        )
        print(
            f"unigram entropy of the held-out masked tokens: "
            f"{level.entropy:.3f} nats"
        )
        first = new_model(args, tokenizer, 0)
        first.save_to_preset(folder / "first")
        start = folder / "start"
        kb.convert(folder / "first", start, format="huggingface")
        same_start(args, tokenizer, corpora, first, start)
        settings = best_settings(args, tokenizer, corpora, start)
        results = {"ours": [], "theirs": []}
        for seed in range(1, args.seeds + 1):
            converted = folder / f"start{seed}"
            sides = [
                ("ours", ours, ()),
                ("theirs", theirs, (settings,)),
            ]
            preset = folder / f"preset{seed}"
            new_model(args, tokenizer, seed).save_to_preset(preset)
            kb.convert(preset, converted, format="huggingface")
            for name, side, more in sides[:: 1 if seed % 2 else -1]:
                found = side(args, tokenizer, corpora, seed, converted, *more)
                results[name].append(found)
                print(
                    f"seed {seed}, {name}: held-out loss {found[0]:.4f}, "
                    f"{found[1]:.1f} s (first {WARM_STEPS} steps "
                    f"{found[2]:.1f} s)",
                    flush=True,
                )
    report(args, level, settings, results)


def report(args, level, settings, results):
    losses = {name: [one[0] for one in results[name]] for name in results}
    times = {name: [one[1] for one in results[name]] for name in results}
    ratios = [
        a / b for a, b in zip(times["ours"], times["theirs"], strict=True)
    ]
    mean = {name: statistics.fmean(found) for name, found in losses.items()}
    # Noise: the standard error of the difference of two means.
    noise = math.sqrt(
        sum(statistics.variance(found) / len(found)
            for found in losses.values())  # fmt: skip
    ) if args.seeds > 1 else math.nan  # fmt: skip
    gap = mean["ours"] - mean["theirs"]
    ratio = statistics.median(ratios)
    below = level.entropy - max(mean.values())
    print("\nside    held-out loss (each seed)       seconds")
    for name in results:
        shown = " ".join(f"{loss:.4f}" for loss in losses[name])
        print(
            f"{name:7} {mean[name]:.4f} ({shown})  "
            f"{statistics.median(times[name]):.1f}"
        )
    print(
        f"difference {gap:+.4f}, noise of the seeds {noise:.4f} (twice it is "
        f"the limit); time {ratio:.2f} of the peer's (goal {TIME_RATIO}); "
        f"{below:.2f} nats below the unigram entropy {level.entropy:.3f} (goal "
        f"{BELOW_UNIGRAM})"
    )
    packages = ("keras", "tensorflow", "jax", "torch", "transformers", "numpy")
    print(
        json.dumps(
            {
                "benchmark": "pretraining",
                "losses": losses,
                "seconds": times,
                "first_steps_seconds": {
                    name: [one[2] for one in found]
                    for name, found in results.items()
                },
                "difference": gap,
                "noise": noise if args.seeds > 1 else None,
                "time_ratio": ratio,
                "unigram_entropy": level.entropy,
                "nats_below_unigram": below,
                "reached": bool(
                    gap <= 2 * noise
                    and ratio <= TIME_RATIO
                    and below >= BELOW_UNIGRAM
                ),
                "peer_settings": {
                    "attention": settings[0],
                    "torch_compile": settings[1],
                },
                "settings": {
                    name: str(value) for name, value in vars(args).items()
                },
                "backend": os.environ["KERAS_BACKEND"],
                "versions": {name: metadata.version(name) for name in packages},
                "machine": platform.platform(),
                "cores": os.cpu_count(),
            }
        )
    )


if __name__ == "__main__":
    main()
