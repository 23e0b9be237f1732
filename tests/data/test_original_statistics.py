"""Equal in distribution to the original's create_pretraining_data.py.

The reference figures (data/pretraining/segment_pair_statistics.json) are
means over some seeds of the original code on the same text. Ours are compared
with them within the sampling error of both, taken from how our own seeds
spread.
"""

import json

import numpy as np
import pytest

from keras_bert.data import Corpus
from keras_bert.data import PretrainingBatches
from keras_bert.data.masked_rows import masked_rows
from keras_bert.data.masking import Masking

# Standard errors. About 80 figures are compared, some of rare lengths.
_ERRORS = 5
_FILES = {
    "sample_text": "text_en/sample_text.txt",
    "wikitext2_valid_sentences": "pretraining/wikitext2_valid_sentences.txt",
}


@pytest.fixture(scope="module")
def references(shared):
    path = shared / "pretraining" / "segment_pair_statistics.json"
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def corpora(shared, uncased):
    return {
        name: Corpus.from_files(shared / file, uncased)
        for name, file in _FILES.items()
    }


def one_pass(batches, epoch):
    """Figures of one pass: a list of totals and the number of instances."""
    figures = {}
    total = 0
    length = batches.sequence_length
    histogram = np.zeros(length // 8 + 1)
    sums = np.zeros(6)
    for window in batches.windows(0, epoch):
        rows = masked_rows(window, batches, batches.tokenizer)
        sequences = window.sequences
        total += len(sequences)
        histogram += np.bincount(
            window.layout.lengths // 8, minlength=len(histogram)
        )
        weight = rows["mask_weights"] > 0
        now = np.take_along_axis(
            rows["token_ids"], rows["mask_positions"], axis=1
        )
        same = now == rows["mask_ids"]
        is_mask = now == batches.tokenizer.mask_token_id
        sums += [
            sequences[:, 4].sum(),
            (sequences[:, 1] - sequences[:, 0]).sum(),
            weight.sum(),
            (is_mask & weight).sum(),
            (same & weight).sum(),
            (~is_mask & ~same & weight).sum(),
        ]
    figures["instances_mean"] = total
    figures["random_next_share"] = sums[0] / total
    # The reference counts what has segment id 0: [CLS] and [SEP] too.
    figures["mean_segment_a"] = sums[1] / total + 2
    figures["masked_mean"] = sums[2] / total
    for name, value in zip(("mask", "same", "random"), sums[3:], strict=True):
        figures[f"kind_{name}"] = value / sums[2]
    for number, count in enumerate(histogram):
        figures[f"length_{8 * number}"] = count / total
    return figures


def reference_figures(reference):
    figures = {
        name: reference[name]
        for name in (
            "instances_mean",
            "random_next_share",
            "mean_segment_a",
            "masked_mean",
        )
    }
    for name, share in reference["masked_kinds"].items():
        figures[f"kind_{name}"] = share
    for start in range(0, reference["max_seq_length"] + 1, 8):
        share = reference["length_histogram_by_8"].get(str(start), 0)
        figures[f"length_{start}"] = share
    return figures


def deviations(corpus, tokenizer, reference, passes, **settings):
    """By how many standard errors each figure differs."""
    batches = PretrainingBatches(
        corpus,
        tokenizer,
        sequence_length=reference["max_seq_length"],
        masking=Masking(max_predictions=reference["max_predictions"]),
        packing=False,
        seed=20,
        **settings,
    )
    ours = [one_pass(batches, epoch) for epoch in range(passes)]
    result = {}
    for name, expected in reference_figures(reference).items():
        values = np.array([figures[name] for figures in ours])
        # Shares count whole instances and are printed with 4 digits: no
        # error is smaller than that.
        least = 0.5 / reference["instances_mean"] / reference["seeds"] + 1e-4
        spread = max(values.std(ddof=1), least * reference["seeds"] ** 0.5)
        error = spread * np.sqrt(1 / passes + 1 / reference["seeds"])
        result[name] = float((values.mean() - expected) / error)
    return result


@pytest.mark.parametrize("number", range(4))
def test_instances_are_distributed_as_the_originals(
    number, references, corpora, uncased
):
    reference = references[number]
    corpus = corpora[reference["corpus"]]
    assert corpus.num_documents == reference["documents"]
    assert corpus.num_sentences == reference["sentences"]
    assert corpus.num_tokens == reference["tokens"]
    passes = 100 if corpus.num_documents == 3 else 12
    found = deviations(corpus, uncased, reference, passes)
    assert {k: v for k, v in found.items() if abs(v) > _ERRORS} == {}


@pytest.mark.parametrize("number, passes", [(0, 100), (2, 12)])
def test_the_comparison_notices_a_wrong_share_of_short_sequences(
    number, passes, references, corpora, uncased
):
    reference = references[number]
    found = deviations(
        corpora[reference["corpus"]],
        uncased,
        reference,
        passes,
        short_seq_prob=0.5,
    )
    assert sum(abs(value) > _ERRORS for value in found.values()) >= 2
