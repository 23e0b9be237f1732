"""Spans in the raw text; words in, words out."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.tokenizers import BertTokenizer

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def spans(tokenizer, text):
    ids, starts, ends = tokenizer.tokenize_with_offsets(text)
    return [
        (tokenizer.vocabulary[i], text[start:end])
        for i, start, end in tf.stack([ids, starts, ends], axis=1).numpy()
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The text of users' report 7, composed, decomposed, and variations.
        (
            "A, naïve  [MASK] fox.",
            "a=A [UNK]=, naive=naïve [MASK]=[MASK] fox=fox .=.",
        ),
        ("nai\u0308ve fox", "naive=nai\u0308ve fox=fox"),
        ("fox\u0301 fox", "fox=fox\u0301 fox=fox"),
        ("\u0301fox", "fox=fox"),
        ("\u200dfox\u200d !", "fox=fox !=!"),
        ("f\u200dox\0!", "fox=f\u200dox !=!"),
        ("\u0130 A", "i=\u0130 a=A"),
        ("😃[SEP]a", "[UNK]=😃 [SEP]=[SEP] a=a"),
        ("ÀÀ[CLS]é[PAD]", "[UNK]=ÀÀ [CLS]=[CLS] [UNK]=é [PAD]=[PAD]"),
        ("é\u3000中fox", "[UNK]=é [UNK]=中 fox=fox"),
    ],
)
def test_users_07_spans_index_the_raw_text(users_vocabulary, text, expected):
    tokenizer = BertTokenizer(
        [*users_vocabulary, "i"],
        lowercase=True,
        special_tokens_in_strings=True,
    )
    got = [f"{token}={span}" for token, span in spans(tokenizer, text)]
    assert got == expected.split(" ")


def test_several_pieces_of_one_character_share_its_span():
    # U+AC00 decomposes into U+1100 U+1161.
    tokenizer = BertTokenizer([*SPECIALS, "\u1100", "##\u1161"], True)
    assert spans(tokenizer, "\uac00") == [
        ("\u1100", "\uac00"),
        ("##\u1161", "\uac00"),
    ]


def test_an_accent_on_a_shared_character_belongs_to_no_piece():
    # The rule: the span normalises to the piece, or it is one character.
    vocabulary = [*SPECIALS, "\u1100", "##\u1161", "\u1100\u1161", "a"]
    text = "\uac00\u0301 a\u0301\u0302"
    tokenizer = BertTokenizer([v for v in vocabulary if len(v) != 2], True)
    assert spans(tokenizer, text) == [
        ("\u1100", "\uac00"),
        ("##\u1161", "\uac00"),
        ("a", "a\u0301\u0302"),
    ]
    assert spans(BertTokenizer(vocabulary, True), text) == [
        ("\u1100\u1161", "\uac00\u0301"),
        ("a", "a\u0301\u0302"),
    ]


def test_spans_equal_hugging_face_where_both_define_them(released, shared):
    # `tokenizers` gives spans too; on lines without a deleted accent or
    # control character at the edge of a token they must agree.
    from tokenizers import BertWordPieceTokenizer

    lines = (shared / "text_en/sample_text.txt").read_text().split("\n")
    lines += ["Naïve 你好 cafés.", "x 😀  y", "ÉCOLE\u00a0№ 5"]
    path = shared / "vocab" / "bert-base-uncased-vocab.txt"
    peer = BertWordPieceTokenizer(str(path), lowercase=True)
    ids, starts, ends = released["uncased"].tokenize_with_offsets(lines)
    for line, row, start, end in zip(
        lines, ids.to_list(), starts.to_list(), ends.to_list(), strict=True
    ):
        theirs = peer.encode(line, add_special_tokens=False)
        assert row == theirs.ids
        assert list(zip(start, end, strict=True)) == theirs.offsets


def test_long_unknown_words_have_their_whole_span(users_tokenizer):
    text = f"a {'é' * 201}, fox"
    ids, starts, ends = users_tokenizer.tokenize_with_offsets(text)
    assert ids.numpy().tolist() == [17, 1, 1, 8]
    assert starts.numpy().tolist() == [0, 2, 203, 205]
    assert ends.numpy().tolist() == [1, 203, 204, 208]


def test_offsets_are_the_same_alone_in_a_batch_and_in_tf_data(
    users_tokenizer,
):
    texts = ["naïve  fox", "a\0b", "", "\u0301", "fox fox"]
    batch = [
        part.to_list() for part in users_tokenizer.tokenize_with_offsets(texts)
    ]
    for index, text in enumerate(texts):
        alone = users_tokenizer.tokenize_with_offsets(text)
        for part, whole in zip(alone, batch, strict=True):
            assert part.numpy().tolist() == whole[index]
    dataset = tf.data.Dataset.from_tensor_slices(texts).batch(5)
    (mapped,) = dataset.map(users_tokenizer.tokenize_with_offsets)
    assert [part.to_list() for part in mapped] == batch


def test_users_30_words_keep_their_number(users_tokenizer):
    words = [["jim", "henson", "-"], [], ["1895-a", "fox"]]
    ids, word_ids = users_tokenizer.tokenize_words(words)
    assert ids.to_list() == [[9, 10, 11, 12], [], [16, 12, 17, 8]]
    assert word_ids.to_list() == [[0, 1, 1, 2], [], [0, 0, 0, 1]]
    one = users_tokenizer.tokenize_words(words[0])
    assert [part.numpy().tolist() for part in one] == [
        [9, 10, 11, 12],
        [0, 1, 1, 2],
    ]
    for wrong in ("jim", ["jim", None], [[["jim"]]], None):
        with pytest.raises(ValueError, match="`words`"):
            users_tokenizer.tokenize_words(wrong)
    empty = users_tokenizer.tokenize_words([])
    assert [part.numpy().tolist() for part in empty] == [[], []]


def test_words_without_a_piece_are_reported(users_tokenizer):
    words = [["a", "\u200b", "b"], ["", "fox"]]
    with pytest.warns(UserWarning, match="word 1 of text 0, word 0 of text 1"):
        ids, word_ids = users_tokenizer.tokenize_words(words)
    assert ids.to_list() == [[17, 18], [8]]
    assert word_ids.to_list() == [[0, 2], [1]]
    *_, missing = users_tokenizer.tokenize_words(words, return_missing=True)
    assert missing.to_list() == [[1], [0]]


def test_words_work_inside_tf_data(users_tokenizer):
    words = tf.ragged.constant([["jim", "henson"], ["\u200b", "fox"]])
    dataset = tf.data.Dataset.from_tensor_slices(words)
    got = [
        tuple(np.array(part).tolist() for part in parts)
        for parts in dataset.map(users_tokenizer.tokenize_words)
    ]
    assert got == [([9, 10, 11], [0, 1, 1]), ([8], [1])]
    for ids, word_ids in dataset.batch(2).map(users_tokenizer.tokenize_words):
        assert ids.to_list() == [row for row, _ in got]
        assert word_ids.to_list() == [row for _, row in got]
