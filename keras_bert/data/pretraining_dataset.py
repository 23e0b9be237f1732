"""Text files or shards -> tf.data of masked batches."""

import warnings

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert._tensorflow import without_autotune
from keras_bert.data.epoch_cell import EpochCell
from keras_bert.data.masking import Masking
from keras_bert.data.pretraining_batches import PretrainingBatches
from keras_bert.data.pretraining_batches import default_max_predictions
from keras_bert.data.sources import open_source
from keras_bert.data.static_batches import StaticBatches


def pretraining_dataset(
    files_or_dir,
    tokenizer,
    sequence_length=128,
    batch_size=32,
    seed=1,
    packing=True,
    next_sentence=None,
    epochs=None,
    *,
    start_epoch=None,
    skip=0,
    masking="pieces",
    mask_rate=0.15,
    mask_token_rate=0.8,
    random_token_rate=0.1,
    max_predictions=None,
    segments=None,
    random_next_rate=None,
    short_seq_prob=0.1,
    max_sequences_per_row=None,
    buckets=None,
    sampling=None,
    file_format="auto",
    text_field="text",
    words=None,
    fixed=False,
):
    """Batches for pretraining from text or shards, masked anew every epoch.

    The dataset is one finite pass and knows its length. Each new iteration
    is the next epoch, with other segment pairs, other masks and another
    order; `dataset.keras_bert_epoch.value` is the number of the next one and
    may be set. All depends on (seed, epoch) alone: the same batches in every
    process, on every backend, from text and from the shards that
    `keras-bert prepare` makes of it. A pass has as many batches as the rows
    of epoch 0 fill (at least one); later epochs are cut or topped up to that.

    Args:
        files_or_dir: a folder of shards; or text: a path, glob pattern or
            folder or a list of them (see `read_documents`), or a `Corpus`;
            or TFRecord files of the original's static records, whose pairs
            and masks stay as they are.
        tokenizer: a `BertTokenizer`.
        sequence_length: integer: tokens of a row.
        batch_size: integer: rows of a batch.
        seed: integer from 0 to 2**64 - 1.
        packing: boolean: put several short sequences in a row; False: one
            sequence a row.
        next_sentence: True: segment pairs with a next-sentence label (needs
            two documents). False: no such label. None: pairs if there are
            two documents, else single segments with a warning.
        epochs: None, or an integer: one iteration gives that many epochs.
        start_epoch: None: each iteration is the next epoch. An integer: every
            iteration begins with that epoch, whatever was iterated before.
        skip: integer: how many batches are left out at the start of an
            iteration, without being made; below the batches of an epoch.
            With `start_epoch` a run goes on where it stopped: batch b of
            epoch e is the first of `start_epoch=e, skip=b`.
        masking: "pieces", "whole_words" or "spans"; or `Masking` settings,
            which take the place of the next four arguments.
        mask_rate: share of a sequence's tokens that are chosen.
        mask_token_rate: share of the chosen ones replaced by [MASK].
        random_token_rate: share of the chosen ones replaced by a random
            token; the rest is left as it is.
        max_predictions: integer: the most chosen tokens in a row. None:
            enough for a full row (20 at 128, 77 at 512).
        segments: without next sentences, "single": a document is cut into
            pieces of the target length; "full_sentences": as many whole
            sentences as fit.
        random_next_rate: None: the original's rule, more than half of the
            pairs random. A rate: 0.5 is what the paper says.
        short_seq_prob: probability that a document is cut into shorter
            sequences.
        max_sequences_per_row: integer, with packing. None: a sixteenth of
            sequence_length.
        buckets: row lengths, with packing=False: sequences of about one
            length form a batch, padded to the next of these lengths only.
        sampling: exponent for several languages of unequal size, 0.7 in
            multilingual BERT (see `group_factors`); each folder that is
            named is one. None: what the shards were prepared with.
        file_format, text_field: of text (see `read_documents`).
        words: of text, what a word is for whole words and spans: None, a
            piece that begins with ## goes on a word; "spaces"; "jieba"; or a
            function from a text to its words.
        fixed: boolean: every iteration is epoch 0, for evaluation.

    Returns:
        A `tf.data.Dataset` of (x, y, sample_weight), b rows of L tokens, P
        chosen tokens and n sequences a row:

        x: dict of int32 arrays: token_ids, segment_ids, padding_mask `[b, L]`
            (k for the row's k-th sequence, 0 for padding), mask_positions
            `[b, P]`, cls_positions `[b, n]`.
        y: dict of int32 arrays: mask_ids `[b, P]`, next_sentence `[b, n]`
            (0: B follows A, 1: B is random).
        sample_weight: dict of float32 arrays as y, 0 in unused places.

        With next_sentence False y and sample_weight are the mask arrays.

    Raises:
        ValueError: naming the argument, for a missing, empty or binary file,
            a missing or broken shard, shards of another tokenizer, one
            document with next_sentence=True, records of another length, a
            sequence_length below 5 (3 without pairs), rates outside 0 to 1.

    Example:

    ```python
    dataset = keras_bert.pretraining_dataset("corpus/*.txt", tokenizer)
    pretrainer.fit(dataset, epochs=3)
    ```

    Reference: [Devlin et al., 2018](https://arxiv.org/abs/1810.04805),
    section 3.1 and appendix A.1-A.2.
    """
    if epochs is not None and (not isinstance(epochs, int) or epochs < 1):
        raise invalid("epochs", "None or an integer from 1", epochs)
    for name, value in (("start_epoch", start_epoch or 0), ("skip", skip)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise invalid(name, "an integer from 0", value)
    if not hasattr(tokenizer, "cls_token_id"):
        raise invalid("tokenizer", "a `BertTokenizer`", tokenizer)
    if not isinstance(sequence_length, int):
        raise invalid("sequence_length", "an integer", sequence_length)
    source = open_source(
        files_or_dir, tokenizer, sampling, file_format, text_field, words
    )
    if isinstance(source, list):
        _refuse_with_records(
            masking=(masking, "pieces"),
            mask_rate=(mask_rate, 0.15),
            mask_token_rate=(mask_token_rate, 0.8),
            random_token_rate=(random_token_rate, 0.1),
            max_predictions=(max_predictions, None),
            segments=(segments, None),
            random_next_rate=(random_next_rate, None),
            short_seq_prob=(short_seq_prob, 0.1),
            max_sequences_per_row=(max_sequences_per_row, None),
            buckets=(buckets, None),
        )
        batches = StaticBatches(
            source, tokenizer, sequence_length, batch_size, seed, next_sentence
        )
    else:
        if not isinstance(masking, Masking):
            if max_predictions is None:
                max_predictions = default_max_predictions(
                    sequence_length, mask_rate
                )
            masking = Masking(
                mask_rate,
                mask_token_rate,
                random_token_rate,
                max_predictions,
                masking,
            )
        batches = PretrainingBatches(
            source,
            tokenizer,
            sequence_length=sequence_length,
            batch_size=batch_size,
            seed=seed,
            packing=packing,
            next_sentence=_next_sentence(source.entries, next_sentence),
            masking=masking,
            short_seq_prob=short_seq_prob,
            max_sequences_per_row=max_sequences_per_row,
            segments=segments,
            random_next_rate=random_next_rate,
            buckets=buckets,
        )
    if skip >= batches.batches_per_epoch:
        raise invalid(
            "skip",
            f"less than the {batches.batches_per_epoch} batches of an epoch",
            skip,
        )
    return _as_dataset(batches, epochs or 1, fixed, start_epoch, skip)


def _refuse_with_records(**given):
    for name, (value, default) in given.items():
        if value != default:
            raise invalid(
                name,
                f"{default!r} with records of the original, whose pairs and "
                "masks stay as they are",
                value,
            )


def _next_sentence(entries, next_sentence):
    documents = sum(entry["documents"] for entry in entries)
    sentences = sum(entry["sentences"] for entry in entries)
    if not isinstance(next_sentence, bool | None):
        raise invalid("next_sentence", "True, False or None", next_sentence)
    if next_sentence is None:
        next_sentence = documents >= 2
        if not next_sentence:
            warnings.warn(
                "The corpus is one document, so there is no other document "
                "to draw a random next sentence from: training without "
                "next-sentence prediction. A blank line separates documents.",
                stacklevel=3,
            )
    if next_sentence and documents == sentences:
        warnings.warn(
            "Every document has one sentence, so every next sentence will be "
            "a random one (label 1) and nothing can be learned from it. "
            "Separate documents, not sentences, by blank lines, or pass "
            "next_sentence=False.",
            stacklevel=3,
        )
    return next_sentence


def _as_dataset(batches, epochs, fixed, start_epoch, skip):
    tf = tensorflow()
    cell = EpochCell(start_epoch or 0)

    def generate():
        if start_epoch is None and not fixed:
            first = cell.value
            cell.value += epochs
        else:
            first = start_epoch or 0
        for epoch in range(first, first + epochs):
            yield from batches.blocks(
                0 if fixed else epoch, skip if epoch == first else 0
            )

    rows = batches.batch_size
    masks = batches.max_predictions
    places = batches.max_sequences_per_row
    # With buckets the rows of each batch have their own length.
    length = None if batches.widths else batches.sequence_length

    def spec(size, dtype=tf.int32):
        return tf.TensorSpec((None, rows, size), dtype)

    x = {
        "token_ids": spec(length),
        "segment_ids": spec(length),
        "padding_mask": spec(length),
        "mask_positions": spec(masks),
        "cls_positions": spec(places),
    }
    y = {"mask_ids": spec(masks), "next_sentence": spec(places)}
    weight = {name: spec(y[name].shape[2], tf.float32) for name in y}
    if not batches.next_sentence:
        y, weight = y["mask_ids"], weight["mask_ids"]
    dataset = tf.data.Dataset.from_generator(
        generate, output_signature=(x, y, weight)
    )
    # The next blocks are drawn while the batches of this one train.
    dataset = dataset.prefetch(2).unbatch()
    dataset = dataset.apply(
        tf.data.experimental.assert_cardinality(
            batches.batches_per_epoch * epochs - skip
        )
    )
    dataset = without_autotune(dataset.prefetch(4))
    dataset.keras_bert_epoch = cell
    return dataset
