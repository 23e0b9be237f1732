"""`keras-bert pretrain`: text files to a pretrained encoder."""

import itertools
import json
import math
import statistics
import time
import warnings

from keras_bert._errors import invalid
from keras_bert.cli import _common

HELP = "pretrain BERT (masked words and next sentences) on text files"
EXAMPLE = (
    "keras-bert pretrain corpus/*.txt -o run --vocab vocab.txt "
    "--config bert_tiny --steps 10000"
)
# Lines of metrics.jsonl that a run writes.
_REPORTS = 20
# Steps that measure the machine before `--minutes` becomes a number of steps.
_TRIAL_STEPS = 12


def add_arguments(parser):
    parser.add_argument("files", nargs="+", help="text files or globs")
    parser.add_argument("-o", "--output", required=True, help="run folder")
    parser.add_argument("--vocab", help="vocabulary file")
    _common.add_case_arguments(parser)
    start = parser.add_mutually_exclusive_group(required=True)
    start.add_argument("--config", help="named size, such as bert_tiny")
    start.add_argument("--model", help="checkpoint to go on from")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--steps", type=_common.positive_int, default=10_000)
    length.add_argument(
        "--minutes",
        type=float,
        help="as many steps as this machine does in that time",
    )
    parser.add_argument("--batch-size", type=_common.positive_int, default=32)
    parser.add_argument(
        "--sequence-length", type=_common.positive_int, default=128
    )
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--next-sentence",
        choices=("auto", "yes", "no"),
        default="auto",
        help="auto: with two or more documents",
    )
    parser.add_argument(
        "--held-out", nargs="+", help="text files measured at the end"
    )


def run(args):
    import keras

    from keras_bert import data
    from keras_bert.models import BertBackbone
    from keras_bert.models import BertPretrainer
    from keras_bert.training import WarmupDecay

    _common.check_new(args.output)
    if not args.learning_rate > 0:
        raise invalid("--learning-rate", "a rate above 0", args.learning_rate)
    if args.minutes is not None and not args.minutes > 0:
        raise invalid("--minutes", "a time above 0", args.minutes)
    _common.check_seed(args.seed)
    keras.utils.set_random_seed(args.seed)
    if args.model:
        backbone = BertBackbone.from_preset(args.model)
    tokenizer = _tokenizer(args)
    if args.config:
        backbone = BertBackbone.from_config_name(
            args.config, vocabulary_size=tokenizer.vocabulary_size()
        )
    if args.sequence_length > backbone.max_sequence_length:
        raise invalid(
            "--sequence-length",
            f"at most {backbone.max_sequence_length}, the position table",
            args.sequence_length,
        )
    corpus = data.Corpus.from_files(args.files, tokenizer)
    # Read now: a wrong name must not cost the whole run.
    held_out = args.held_out and data.Corpus.from_files(
        args.held_out, tokenizer
    )
    next_sentence = {"auto": None, "yes": True, "no": False}
    settings = {
        "sequence_length": args.sequence_length,
        "batch_size": args.batch_size,
        "seed": args.seed,
    }
    one_epoch = data.pretraining_dataset(
        corpus,
        tokenizer,
        **settings,
        next_sentence=next_sentence[args.next_sentence],
    )
    with_pairs = isinstance(one_epoch.element_spec[1], dict)
    per_epoch = int(one_epoch.cardinality())
    steps = args.steps
    if args.minutes is not None:
        steps = _steps_for(args.minutes, backbone, one_epoch, with_pairs)
        keras.utils.set_random_seed(args.seed)
    pretrainer = (
        BertPretrainer.from_preset(args.model, next_sentence=with_pairs)
        if args.model
        else BertPretrainer(backbone, tokenizer, next_sentence=with_pairs)
    )
    pretrainer.compile(
        learning_rate=WarmupDecay(args.learning_rate, 0.1, total_steps=steps)
    )
    epochs = math.ceil(steps / per_epoch)
    dataset = data.pretraining_dataset(
        corpus,
        tokenizer,
        **settings,
        next_sentence=with_pairs,
        epochs=epochs,
    ).take(steps)
    print(
        f"{corpus.num_documents:,} documents, {len(corpus.ids):,} tokens; "
        f"{steps:,} steps of {args.batch_size} x {args.sequence_length} = "
        f"{steps / per_epoch:.1f} epochs; "
        f"{pretrainer.count_params():,} parameters"
    )
    with _common.new_folder(args.output) as folder:
        started = time.monotonic()
        with open(folder / "metrics.jsonl", "w") as log:
            _fit(pretrainer, dataset, steps, log)
        seconds = time.monotonic() - started
        pretrainer.save_to_preset(folder / "preset")
        result = {
            "task": "pretraining",
            "steps": steps,
            "epochs": steps / per_epoch,
            "seconds": seconds,
            "tokens_per_second": steps
            * args.batch_size
            * args.sequence_length
            / seconds,
            "next_sentence": with_pairs,
            "settings": {
                name: value
                for name, value in vars(args).items()
                if name not in ("run", "json", "verb")
            },
        }
        if held_out:
            from keras_bert.cli._evaluate_pretraining import (
                evaluate_pretraining,
            )

            result["held_out"] = evaluate_pretraining(
                pretrainer, held_out, tokenizer, args.sequence_length
            )
        _common.write_json(folder / "result.json", result)
    if args.held_out:
        from keras_bert.cli._evaluate_pretraining import print_pretraining

        print_pretraining(result["held_out"])
    print(f"\nwritten: {args.output}")
    return result


def _tokenizer(args):
    from keras_bert.tokenizers import BertTokenizer

    if args.vocab:
        return _common.tokenizer_from(args.vocab, args.cased, args.uncased)
    if args.model:
        return BertTokenizer.from_preset(args.model)
    raise invalid("--vocab", "a vocabulary file with --config", args.vocab)


def _steps_for(minutes, backbone, dataset, with_pairs):
    """How many steps fit in the time, tried on a copy of the model."""
    import keras

    from keras_bert.models import BertBackbone
    from keras_bert.models import BertPretrainer

    copy = BertPretrainer(
        BertBackbone.from_config(backbone.get_config()),
        next_sentence=with_pairs,
    )
    ends = []
    timer = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: ends.append(time.monotonic())
    )
    available = min(_TRIAL_STEPS, int(dataset.cardinality()))
    copy.fit(dataset.take(available), verbose=0, callbacks=[timer])
    # The first step compiles; with a single one there is nothing better.
    paces = [b - a for a, b in itertools.pairwise(ends)] or [1.0]
    return max(1, round(minutes * 60 / statistics.median(paces)))


def _fit(pretrainer, dataset, steps, log):
    import keras

    from keras_bert.training import Progress

    reports = min(_REPORTS, steps)
    every = math.ceil(steps / reports)
    started = time.monotonic()

    def write(epoch, logs):
        line = {
            "step": min(steps, (epoch + 1) * every),
            "seconds": round(time.monotonic() - started, 2),
            **{name: float(value) for name, value in logs.items()},
        }
        log.write(json.dumps(line) + "\n")
        log.flush()

    with warnings.catch_warnings():
        # The last report covers what is left, which may be fewer steps.
        warnings.filterwarnings("ignore", message=".*ran out of data.*")
        pretrainer.fit(
            dataset,
            epochs=math.ceil(steps / every),
            steps_per_epoch=every,
            verbose=0,
            callbacks=[
                keras.callbacks.LambdaCallback(on_epoch_end=write),
                Progress(steps),
            ],
        )
