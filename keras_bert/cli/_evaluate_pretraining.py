"""`keras-bert evaluate pretraining`: both tasks on held-out text."""

import math
import sys

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert.cli import _common
from keras_bert.cli._common import ACCURACY_HEADER
from keras_bert.cli._common import accuracy_row
from keras_bert.tasks._accuracy import accuracy


def run(args):
    from keras_bert.cli._pretrain_text import Text

    if len(args.model) > 1:
        raise invalid("--model", "one checkpoint", args.model)
    model = _model_of(args.model[0])
    if model.tokenizer is None:
        raise invalid(
            "--model", "a checkpoint with its vocabulary", args.model[0]
        )
    text = Text(args.data, model.tokenizer)
    length = args.sequence_length or 128
    check_held_out("--data", text, args.data, model, [length])
    result = evaluate_pretraining(
        model, text.source, model.tokenizer, length,
        batch_size=args.batch_size,
    )  # fmt: skip
    print_pretraining(result)
    return result


def _model_of(source):
    """The model with the heads that the checkpoint has."""
    from keras_bert.models import BertPretrainer

    model = BertPretrainer.from_preset(source)
    missing = model.load_report.newly_initialised
    if missing and all(name.startswith("next_sentence") for name in missing):
        model = BertPretrainer.from_preset(source, next_sentence=False)
        missing = model.load_report.newly_initialised
    if missing:
        raise invalid(
            "--model",
            f"a checkpoint with a masked head (missing: {', '.join(missing)})",
            source,
        )
    return model


def check_held_out(option, text, files, model, lengths):
    """Refuses text that cannot be measured, before anything is done."""
    if model.next_sentence and not _has_pairs(text.source):
        print(
            f"{option}: a document alone has no random next sentences; only "
            "the masked tokens are measured",
            file=sys.stderr,
        )
    for length in lengths:
        try:
            held_out_dataset(
                text.source, text.tokenizer, length, model.next_sentence,
                objective_of(model),
            )  # fmt: skip
        except ValueError as error:
            raise invalid(
                option, f"text that can be measured ({error})", files
            ) from error


def held_out_dataset(
    source, tokenizer, sequence_length, next_sentence, objective,
    batch_size=32, limit=None,
):  # fmt: skip
    """Held-out batches whose pairs and masks are the same every time."""
    from keras_bert import data

    has_pairs = next_sentence and _has_pairs(source)
    # Row by row: whole batches would repeat or leave out some of the text.
    dataset = data.pretraining_dataset(
        source,
        tokenizer,
        sequence_length=sequence_length,
        batch_size=1,
        seed=0,
        next_sentence=has_pairs,
        fixed=True,
    )
    if objective == "left-to-right":
        dataset = data.next_tokens(dataset)
    dataset = dataset.unbatch().batch(batch_size)
    if next_sentence and not has_pairs:
        dataset = dataset.map(_with_unlabelled_pairs)
    return dataset if limit is None else dataset.take(limit)


def _has_pairs(source):
    """Whether a next sentence can be random; records have what they have."""
    entries = getattr(source, "entries", None)
    return entries is None or all(entry["documents"] > 1 for entry in entries)


def _with_unlabelled_pairs(x, labels, weight):
    tf = tensorflow()
    places = x["cls_positions"]
    return (
        x,
        {"mask_ids": labels, "next_sentence": tf.zeros_like(places)},
        {
            "mask_ids": weight,
            "next_sentence": tf.zeros_like(places, tf.float32),
        },
    )


def evaluate_pretraining(
    model, source, tokenizer, sequence_length, batch_size=32
):
    """Masked and next-sentence accuracy on fixed masks, with the chance.

    The definitions are those of the original's `metric_fn`: means over all
    masked tokens, and over all pairs, of the whole text.
    """
    import numpy as np

    from keras_bert import data

    dataset = held_out_dataset(
        source,
        tokenizer,
        sequence_length,
        model.next_sentence,
        objective_of(model),
        batch_size,
    )
    scores = model.evaluate(dataset, verbose=0, return_dict=True)
    labels, weights, pairs = [], [], []
    for _, y, weight in dataset.as_numpy_iterator():
        if model.next_sentence:
            pairs.append(y["next_sentence"][weight["next_sentence"] > 0])
            y, weight = y["mask_ids"], weight["mask_ids"]
        labels.append(y)
        weights.append(weight)
    level = data.unigram_level(np.concatenate(labels), np.concatenate(weights))
    prefix = "mask_ids_" if model.next_sentence else ""
    perplexity = scores[prefix + "perplexity"]
    result = {
        "masked_accuracy": accuracy(
            scores[prefix + "accuracy"], level.num_labels, level.accuracy
        ),
        "perplexity": perplexity,
        "masked_lm_loss": math.log(perplexity),
        "unigram_perplexity": math.exp(level.entropy),
    }
    pairs = np.concatenate(pairs) if pairs else np.zeros(0)
    if pairs.size:
        result["next_sentence_loss"] = scores["next_sentence_loss"]
        result["next_sentence_accuracy"] = accuracy(
            scores["next_sentence_accuracy"],
            int(pairs.size),
            float(max(pairs.mean(), 1 - pairs.mean())),
        )
    return result


def objective_of(model):
    return "left-to-right" if model.backbone.causal else "masked"


def held_out_figures(model, source, sequence_length, limit):
    """Short figures for the reports of a run, while it trains."""
    dataset = held_out_dataset(
        source,
        model.tokenizer,
        sequence_length,
        model.next_sentence,
        objective_of(model),
        limit=limit,
    )
    scores = model.evaluate(dataset, verbose=0, return_dict=True)
    prefix = "mask_ids_" if model.next_sentence else ""
    figures = {
        "held_out_loss": scores["loss"],
        "held_out_perplexity": scores[prefix + "perplexity"],
        "held_out_masked_accuracy": scores[prefix + "accuracy"],
    }
    if model.next_sentence and _has_pairs(source):
        figures["held_out_next_sentence_accuracy"] = scores[
            "next_sentence_accuracy"
        ]
    return figures


def print_pretraining(result):
    rows = [
        ACCURACY_HEADER,
        accuracy_row(
            "masked accuracy (chance: the commonest token)",
            result["masked_accuracy"],
        ),
    ]
    if "next_sentence_accuracy" in result:
        rows.append(
            accuracy_row(
                "next sentence (chance: the commoner answer)",
                result["next_sentence_accuracy"],
            )
        )
    _common.print_table(rows)
    print(
        f"  perplexity of the {result['masked_accuracy']['examples']:,} masked "
        f"tokens: {result['perplexity']:.1f} (knowing only how frequent each "
        f"token is: {result['unigram_perplexity']:.1f})"
    )
