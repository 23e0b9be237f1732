"""Whole words and spans."""

import numpy as np
import pytest

from keras_bert.data import Corpus
from keras_bert.data import Masking
from keras_bert.data import pretraining_dataset
from keras_bert.data.masked_rows import later_pieces
from keras_bert.data.masked_units import choose_spans
from keras_bert.data.masked_units import choose_words
from keras_bert.data.masked_units import geometric_lengths
from keras_bert.tokenizers import BertTokenizer


@pytest.fixture(scope="module")
def words():
    """The vocabulary of the users' complaints (spec/users.md)."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens = ["the", "quick", "##ly", "fox", "jim", "hen", "##son", "-"]
    return BertTokenizer([*special, *tokens], lowercase=True)


def rows_of(*texts):
    """Bool rows of "x" (candidate), "c" (candidate, goes on) and "."."""
    letters = np.array([list(text) for text in texts])
    return letters != ".", letters == "c"


def test_a_word_is_taken_whole_or_not_at_all():
    candidates, continues = rows_of(".xxc.", ".xxc.", ".xxc.")
    order = np.array([[0, 1, 2, 0, 0], [0, 2, 1, 0, 0], [0, 2, 1, 0, 0]])
    found = choose_words(
        candidates, continues, np.array([2, 2, 1]), order.astype("float32")
    )
    # One of two places left: the word of two is passed over, as in
    # create_masked_lm_predictions of the original.
    assert found.astype(int).tolist() == [
        [0, 1, 0, 0, 0],
        [0, 0, 1, 1, 0],
        [0, 1, 0, 0, 0],
    ]


def test_a_word_that_a_border_cuts_begins_there():
    candidates, continues = rows_of(".cx.cc")
    for order, wanted in (
        ([0, 0, 9, 0, 8, 0], [0, 1, 0, 0, 0, 0]),
        ([0, 9, 8, 0, 0, 0], [0, 0, 0, 0, 1, 1]),
    ):
        found = choose_words(
            candidates,
            continues,
            np.array([sum(wanted)]),
            np.array([order], "float32") / 10,
        )
        assert found.astype(int).tolist() == [wanted]


def test_spans_are_whole_words_and_stop_at_borders_and_counts():
    candidates, continues = rows_of(".xxcx.xx.", ".xxcx.xx.", ".xxcx.xx.")
    # Places of the candidates: 1 2 3 4 6 7; 0.4 is the third of them.
    anchors = np.array([[0.4], [0.4], [0.99]])
    found = choose_spans(
        candidates,
        continues,
        np.array([9, 2, 9]),
        anchors,
        np.array([[2], [3], [5]]),
    )
    assert found.tolist() == [
        [0, 0, 1, 1, 1, 0, 0, 0, 0],
        [0, 0, 1, 1, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 1, 0],
    ]


def test_span_lengths_are_those_of_spanbert():
    # Joshi et al. (2020), section 3.1: Geo(0.2), at most 10, mean 3.8.
    uniform = np.random.default_rng(0).random(200_000)
    lengths = geometric_lengths(uniform, 0.2, 10)
    assert lengths.min() == 1
    assert lengths.max() == 10
    assert abs(lengths.mean() - 3.8) < 0.02


def test_users_17_a_word_is_masked_together_and_pads_stay(words):
    # "jim hen ##son" at rate 1 with room for 2: "hen ##son" both or neither.
    corpus = Corpus.from_documents([["jim henson"]], words)
    seen = set()
    for seed in range(30):
        dataset = pretraining_dataset(
            corpus, words, 8, 1, seed=seed, packing=False,
            next_sentence=False, masking="whole_words", mask_rate=1.0,
            mask_token_rate=1.0, random_token_rate=0.0, max_predictions=2,
            short_seq_prob=0,
        )  # fmt: skip
        for x, y, weight in dataset.as_numpy_iterator():
            assert x["padding_mask"].tolist() == [[1] * 5 + [0] * 3]
            chosen = x["mask_positions"][weight > 0].tolist()
            seen.add(tuple(chosen))
            assert (x["token_ids"][0, chosen] == words.mask_token_id).all()
            wanted = {(1,): [9], (2, 3): [10, 11]}[tuple(chosen)]
            assert y[weight > 0].tolist() == wanted
    assert seen == {(1,), (2, 3)}


def test_hash_signs_alone_go_on_no_word(words):
    assert later_pieces(words).nonzero()[0].tolist() == [7, 11]
    tokenizer = BertTokenizer([*words.vocabulary, "##", "#"])
    assert later_pieces(tokenizer).nonzero()[0].tolist() == [7, 11]


@pytest.mark.parametrize(
    ("given", "text"),
    [("spaces", "使用 语言 模型"), ("jieba", "使用语言模型"), (list, "ab")],
)
def test_words_of_chinese_are_given_or_found(given, text):
    # jieba.cut("使用语言模型") is 使用 / 语言 / 模型.
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = BertTokenizer([*special, *"使用语言模型ab"])
    corpus = Corpus.from_documents([[text, text]], tokenizer, given)
    wanted = [0, 0] * 2 if given is list else [0, 1, 0, 1, 0, 1] * 2
    assert corpus.continues.astype(int).tolist() == wanted
    assert Corpus.from_documents([[text]], tokenizer).continues is None
    with pytest.raises(ValueError, match="argument `words`"):
        Corpus.from_documents([[text]], tokenizer, "pkuseg")


def test_given_words_are_masked_together():
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = BertTokenizer([*special, *"使用语言模型"])
    corpus = Corpus.from_documents([["使用 语言 模型"]], tokenizer, "spaces")
    pairs = {(1, 2), (3, 4), (5, 6)}
    seen = set()
    for seed in range(20):
        dataset = pretraining_dataset(
            corpus, tokenizer, 10, 1, seed=seed, next_sentence=False,
            masking="whole_words", mask_rate=0.25, short_seq_prob=0,
        )  # fmt: skip
        for x, _, weight in dataset.as_numpy_iterator():
            seen.add(tuple(x["mask_positions"][weight > 0].tolist()))
    assert seen == pairs


@pytest.mark.parametrize("unit", ["whole_words", "spans"])
def test_the_share_of_masked_tokens_is_kept(file, tokenizer, unit):
    settings = Masking(0.15, 0.8, 0.1, 20, unit)
    dataset = pretraining_dataset(
        file, tokenizer, 64, 4, masking=settings, packing=False
    )
    for x, y, weight in dataset.as_numpy_iterator():
        lengths = (x["padding_mask"] > 0).sum(1)
        chosen = weight["mask_ids"].sum(1)
        # Every word here is one piece, so nothing is passed over.
        wanted = np.clip(np.rint(lengths * 0.15), 1, 20)
        assert (chosen == wanted).all()
        positions = x["mask_positions"]
        masked = np.take_along_axis(x["token_ids"], positions, 1)
        labels = y["mask_ids"]
        assert (labels[weight["mask_ids"] > 0] > 4).all()
        assert masked.shape == labels.shape


def test_a_span_is_replaced_alike(tokenizer):
    # SpanBERT: the 80/10/10 are drawn for a span, not for a token.
    corpus = Corpus.from_documents([["w0 " * 60]] * 40, tokenizer)
    for unit, mixed in (("spans", 0), ("pieces", 1)):
        settings = Masking(0.3, 0.5, 0.0, 19, unit, longest_span=3)
        dataset = pretraining_dataset(
            corpus, tokenizer, 62, 8, masking=settings, next_sentence=False,
            packing=False, short_seq_prob=0,
        )  # fmt: skip
        kinds = []
        for x, _, weight in dataset.as_numpy_iterator():
            masked = x["token_ids"] == tokenizer.mask_token_id
            chosen = np.zeros_like(masked)
            row, place = np.nonzero(weight > 0)
            chosen[row, x["mask_positions"][row, place]] = True
            # Runs of three chosen tokens with others around.
            window = np.lib.stride_tricks.sliding_window_view
            runs = (window(chosen, 5, 1) == [0, 1, 1, 0, 0]).all(-1)
            kinds += [
                masked[r, c + 1] != masked[r, c + 2]
                for r, c in np.argwhere(runs)
            ]
        assert len(kinds) > 20
        # Two spans of one may touch; pieces differ half of the time.
        assert (np.mean(kinds) > 0.35) == mixed


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"unit": "words"}, "masking"),
        ({"span_probability": 0.0}, "span_probability"),
        ({"longest_span": 0}, "longest_span"),
        ({"max_predictions": 0}, "max_predictions"),
    ],
)
def test_bad_settings_are_refused_by_name(file, tokenizer, settings, name):
    with pytest.raises(ValueError, match=f"argument `{name}`"):
        pretraining_dataset(file, tokenizer, masking=Masking(**settings))
