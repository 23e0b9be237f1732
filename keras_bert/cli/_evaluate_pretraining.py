"""`keras-bert evaluate pretraining`: both tasks on held-out text."""

import math

from keras_bert._errors import invalid
from keras_bert.cli import _common
from keras_bert.cli._common import ACCURACY_HEADER
from keras_bert.cli._common import accuracy_row
from keras_bert.tasks._accuracy import accuracy


def run(args):
    from keras_bert.data import Corpus
    from keras_bert.models import BertPretrainer

    if len(args.model) > 1:
        raise invalid("--model", "one checkpoint", args.model)
    model = BertPretrainer.from_preset(args.model[0])
    if model.load_report.newly_initialised:
        raise invalid(
            "--model",
            "a checkpoint with the heads of both pretraining tasks (missing: "
            f"{', '.join(model.load_report.newly_initialised)})",
            args.model[0],
        )
    corpus = Corpus.from_files(args.data, model.tokenizer)
    result = evaluate_pretraining(
        model, corpus, model.tokenizer, args.sequence_length or 128
    )
    print_pretraining(result)
    return result


def held_out_dataset(
    corpus, tokenizer, sequence_length, next_sentence, objective, limit
):
    """Held-out batches whose pairs and masks are the same every time."""
    from keras_bert import data

    dataset = data.pretraining_dataset(
        corpus,
        tokenizer,
        sequence_length=sequence_length,
        seed=0,
        next_sentence=next_sentence,
        fixed=True,
    )
    if objective == "left-to-right":
        dataset = data.next_tokens(dataset)
    return dataset.take(limit)


def evaluate_pretraining(
    model, corpus, tokenizer, sequence_length, limit=200, objective=None
):
    """Masked and next-sentence accuracy on fixed masks, with the chance.

    The definitions are those of the original's `metric_fn`: means over all
    masked tokens, and over all pairs, of the whole text.

    Args:
        limit: batches of 32 rows at most.
        objective: "masked" or "left-to-right"; None: as the backbone is.
    """
    import numpy as np

    from keras_bert import data

    dataset = held_out_dataset(
        corpus,
        tokenizer,
        sequence_length,
        model.next_sentence,
        objective or objective_of(model),
        limit,
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
    if model.next_sentence:
        pairs = np.concatenate(pairs)
        result["next_sentence_loss"] = scores["next_sentence_loss"]
        result["next_sentence_accuracy"] = accuracy(
            scores["next_sentence_accuracy"],
            int(pairs.size),
            float(max(pairs.mean(), 1 - pairs.mean())),
        )
    return result


def objective_of(model):
    return "left-to-right" if model.backbone.causal else "masked"


def held_out_figures(model, corpus, sequence_length, objective, limit):
    """Short figures for the reports of a run, while it trains."""
    dataset = held_out_dataset(
        corpus,
        model.tokenizer,
        sequence_length,
        model.next_sentence,
        objective,
        limit,
    )
    scores = model.evaluate(dataset, verbose=0, return_dict=True)
    prefix = "mask_ids_" if model.next_sentence else ""
    figures = {
        "held_out_loss": scores["loss"],
        "held_out_perplexity": scores[prefix + "perplexity"],
        "held_out_masked_accuracy": scores[prefix + "accuracy"],
    }
    if model.next_sentence:
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
