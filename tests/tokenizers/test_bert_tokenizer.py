"""BertTokenizer: the original's own tables, containers, configuration."""

import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.tokenizers import BertTokenizer
from keras_bert.tokenizers._graph import WordPieceGraph

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

# input, words when lower-cased, words when not: google-research/bert's
# tokenization_test.py and what its BasicTokenizer gives on other edge cases.
SPLITS = [
    ("", "", ""),
    ("  \t ", "", ""),
    ("ah\u535a\u63a8zz", "ah \u535a \u63a8 zz", "ah \u535a \u63a8 zz"),
    (
        " \tHeLLo!how  \n Are yoU?  ",
        "hello ! how are you ?",
        "HeLLo ! how Are yoU ?",
    ),
    ("H\u00e9llo", "hello", "H\u00e9llo"),
    ("a\u200bb", "ab", "ab"),
    ("a\u00adb", "ab", "ab"),
    ("a\x0bb a\x85b", "ab ab", "ab ab"),
    ("a\0b\ufffdc", "abc", "abc"),
    ("a\u00a0b\u3000c\u2028d", "a b c d", "a b c d"),
    ("a\ue000b", "a\ue000b", "a\ue000b"),
    ("e\u0301a", "ea", "e\u0301a"),
    ("\u0130stanbul", "istanbul", "\u0130stanbul"),
    ("straße", "straße", "straße"),
    ("ΟΔΟΣ", "οδος", "ΟΔΟΣ"),
    ("\uac00\ub098", "\u1100\u1161\u1102\u1161", "\uac00\ub098"),
    ("\uf900", "\u8c48", "\uf900"),
    ("x😀y", "x😀y", "x😀y"),
    ("$100.50", "$ 100 . 50", "$ 100 . 50"),
    ("€5, 3½", "€5 , 3½", "€5 , 3½"),
    ("don't", "don ' t", "don ' t"),
    ("a_b ##ing", "a _ b # # ing", "a _ b # # ing"),
    ("“q”", "“ q ”", "“ q ”"),
    ("A，B", "a ， b", "A ， B"),
    ("^~+=<>|`", "^ ~ + = < > | `", "^ ~ + = < > | `"),
]


@pytest.mark.parametrize(("text", "lower", "cased"), SPLITS)
@pytest.mark.parametrize("lowercase", [True, False])
def test_words_are_split_as_the_original_splits_them(
    text, lower, cased, lowercase
):
    expected = (lower if lowercase else cased).split(" ")
    expected = [word for word in expected if word]
    # A word outside this vocabulary, whole, would come out as [UNK].
    vocabulary = SPECIALS + list(dict.fromkeys(expected))
    tokenizer = BertTokenizer(vocabulary, lowercase)
    ids = tokenizer(text).numpy().tolist()
    assert [vocabulary[i] for i in ids] == expected


ORIGINAL = "[PAD] [MASK] [UNK] [CLS] [SEP] want ##want ##ed wa un runn ##ing ,"


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("UNwant\u00e9d,running", "un ##want ##ed , runn ##ing"),
        ("", ""),
        ("unwanted running", "un ##want ##ed runn ##ing"),
        ("unwantedX running", "[UNK] runn ##ing"),
    ],
)
def test_pieces_of_the_original_unit_test(text, pieces):
    tokenizer = BertTokenizer(ORIGINAL.split(), lowercase=True)
    ids = tokenizer(text).numpy().tolist()
    assert [tokenizer.id_to_token(i) for i in ids] == pieces.split()


def test_users_01_special_tokens_in_text_need_the_switch(
    users_tokenizer, users_tokenizer_with_specials
):
    on = users_tokenizer_with_specials
    assert on("the [MASK] fox").numpy().tolist() == [5, 4, 8]
    # Before normalisation, glued to words, one after the other.
    assert on("the[SEP][SEP]fox[mask]").numpy().tolist() == [
        *(5, 3, 3, 8),
        *(1, 1, 1),
    ]
    for text in ("the [MASK] fox", "[SEP]", "[CLS][PAD]", "x\ufdd0 \ufdd3"):
        assert not set(users_tokenizer(text).numpy()) & {0, 2, 3, 4}
    # Brackets and pieces on either side stay what they are.
    assert on("[[SEP]]ly").numpy().tolist() == [1, 3, 1, 1]
    assert on("quick[MASK]fox[CLS").numpy().tolist() == [6, 4, 8, 1, 1]
    for text in ("[S\u200bEP]", "[ SEP ]", "[SE", "\uff3bSEP\uff3d"):
        assert not set(on(text).numpy()) & {0, 2, 3, 4}
    # The stand-ins of the switch are no way in either.
    assert on("\ufdd0 \ufdd1 a").numpy().tolist() == [1, 1, 17]


def test_users_02_an_emoji_is_unknown_and_has_its_span(users_tokenizer):
    ids, starts, ends = users_tokenizer.tokenize_with_offsets("😃 hello")
    assert ids.numpy().tolist() == [1, 21]
    assert starts.numpy().tolist() == [0, 2]
    assert ends.numpy().tolist() == [1, 7]


def test_users_04_rare_ideographs_are_unknown_one_by_one():
    tokenizer = BertTokenizer([*SPECIALS, "中"], lowercase=True)
    assert tokenizer("中囧").numpy().tolist() == [5, 1]
    assert tokenizer("囧囧").numpy().tolist() == [1, 1]


def test_users_05_private_use_is_unknown_and_joiners_vanish(users_tokenizer):
    assert users_tokenizer("a \uf059 b").numpy().tolist() == [17, 1, 18]
    assert users_tokenizer("a \u200d b").numpy().tolist() == [17, 18]


def test_accents_follow_lowercase_unless_set():
    vocabulary = [*SPECIALS, "cafe", "café", "Cafe", "Café"]
    expected = {
        (True, None): "cafe",
        (True, False): "café",
        (True, True): "cafe",
        (False, None): "Café",
        (False, False): "Café",
        (False, True): "Cafe",
    }
    for (lowercase, strip), word in expected.items():
        tokenizer = BertTokenizer(vocabulary, lowercase, strip)
        assert tokenizer.detokenize(tokenizer("Café")) == word


def test_invalid_utf8_is_dropped_as_python_drops_it():
    # Truncated, overlong and surrogate sequences, U+FFFD itself, stray bytes.
    rows = [
        b"a\xe4\xb8b",
        b"a\xed\xa0\x80b",
        b"\xc0\x80a\xff b",
        b"a\xf0\x90b",
        "a\ufffdb".encode(),
        b"\xf4\x90\x80\x80a",
        b"\xe4\xb8\xad\xe4",
    ]
    vocabulary = [*SPECIALS, "a", "b", "ab", "中"]
    tokenizer = BertTokenizer(vocabulary)
    decoded = [row.decode("utf-8", "ignore") for row in rows]
    assert tokenizer(rows).to_list() == tokenizer(decoded).to_list()
    assert tokenizer(rows).to_list() == [
        [vocabulary.index(word) for word in text.split()]
        for text in ("ab", "ab", "a b", "ab", "ab", "a", "中")
    ]


def test_lone_surrogates_are_letters_of_no_vocabulary(users_tokenizer):
    # As in the original, which never encodes: category Cs is kept.
    assert users_tokenizer("a\ud800 b").numpy().tolist() == [1, 18]
    _, starts, ends = users_tokenizer.tokenize_with_offsets("\udfff b")
    assert (starts.numpy().tolist(), ends.numpy().tolist()) == ([0, 2], [1, 3])


TEXTS = ["The fox", "", "naïve!", "quickly a quick"]
IDS = [[5, 8], [], [20, 19], [6, 7, 17, 6]]


def test_one_result_for_every_container_and_inside_tf_data(users_tokenizer):
    tokenizer = users_tokenizer
    for container in (TEXTS, tuple(TEXTS), np.array(TEXTS, object)):
        assert tokenizer(container).to_list() == IDS
    tensor = tf.constant(TEXTS)
    assert tokenizer(tensor).to_list() == IDS
    assert tokenizer([]).to_list() == []
    assert tokenizer(TEXTS).dtype == tf.int32
    grid = tokenizer(tf.reshape(tensor, [2, 2]))
    assert grid.to_list() == [IDS[:2], IDS[2:]]
    nested = tokenizer([TEXTS[:1], TEXTS[1:]])
    assert nested.to_list() == [IDS[:1], IDS[1:]]

    dataset = tf.data.Dataset.from_tensor_slices(TEXTS)
    alone = [ids.numpy().tolist() for ids in dataset.map(tokenizer)]
    batched = [
        row for ids in dataset.batch(3).map(tokenizer) for row in ids.to_list()
    ]
    direct = [tokenizer(text).numpy().tolist() for text in TEXTS]
    assert alone == batched == direct == IDS


def test_what_is_no_text_is_refused_by_name(users_tokenizer):
    for text in (3, [1, 2], None, tf.constant([1]), ["a", None], {"a"}):
        with pytest.raises(ValueError, match="`text`"):
            users_tokenizer(text)
    dataset = tf.data.Dataset.from_generator(
        lambda: ["a"], output_signature=tf.TensorSpec(None, tf.string)
    )
    with pytest.raises(ValueError, match="`text`.*known rank"):
        dataset.map(users_tokenizer)


def test_a_switch_that_is_neither_true_nor_false_is_refused(specials):
    for name in ("lowercase", "strip_accents", "special_tokens_in_strings"):
        with pytest.raises(ValueError, match=f"`{name}`"):
            BertTokenizer(specials, **{name: "false"})
        assert BertTokenizer(specials, **{name: np.True_}).get_config()[name]
    with pytest.raises(ValueError, match="`lowercase`"):
        BertTokenizer(specials, lowercase=None)


def test_threads_share_a_tokenizer_and_its_one_graph(
    users_vocabulary, monkeypatch
):
    built = []
    tokenize = WordPieceGraph.tokenize

    def slowly(graph, rows):
        built.append(graph)
        time.sleep(0.05)
        return tokenize(graph, rows)

    monkeypatch.setattr(WordPieceGraph, "tokenize", slowly)
    tokenizer = BertTokenizer(users_vocabulary, lowercase=True)
    with ThreadPoolExecutor(4) as threads:
        rows = list(threads.map(tokenizer, [["naïve fox"]] * 8))
    assert [row.to_list() for row in rows] == [[[20, 8]]] * 8
    assert len(built) == 1
    dataset = tf.data.Dataset.from_tensor_slices(["naïve fox"] * 50)
    for texts in (dataset, dataset.batch(7)):
        for ids in texts.map(tokenizer, num_parallel_calls=3):
            assert set(np.ravel(ids.numpy())) == {20, 8}


def test_the_configuration_holds_everything(users_vocabulary):
    tokenizer = BertTokenizer(users_vocabulary, True, False, True)
    copies = [
        BertTokenizer.from_config(tokenizer.get_config()),
        keras.saving.deserialize_keras_object(
            keras.saving.serialize_keras_object(tokenizer)
        ),
        pickle.loads(pickle.dumps(tokenizer)),
    ]
    for copy in copies:
        assert copy.get_config() == tokenizer.get_config()
        assert copy("[CLS] naïve").numpy().tolist() == [2, 1]


def test_special_ids_come_from_the_vocabulary():
    shuffled = ["a", "[MASK]", "[SEP]", "[UNK]", "[CLS]", "b", "[PAD]"]
    tokenizer = BertTokenizer(shuffled)
    assert tokenizer.special_token_ids == [6, 3, 4, 2, 1]
    assert tokenizer.pad_token_id == 6
    assert tokenizer.unk_token_id == 3
    assert tokenizer.cls_token_id == 4
    assert tokenizer.sep_token_id == 2
    assert tokenizer.mask_token_id == 1
    assert tokenizer("a c").numpy().tolist() == [0, 3]
    assert tokenizer.vocabulary_size() == 7
    assert tokenizer.token_to_id("b") == 5
    for token in ("c", 5, ["a"]):
        with pytest.raises(ValueError, match="`token`"):
            tokenizer.token_to_id(token)
    for id in (7, -1, "a", 1.0, None):
        with pytest.raises(ValueError, match="`id`"):
            tokenizer.id_to_token(id)


def test_detokenize_joins_pieces_and_drops_specials_on_request(
    users_tokenizer,
):
    decode = users_tokenizer.detokenize
    # users 08: the rule of tensorflow/text, and the round trip.
    assert decode([5, 6, 7]) == "the quickly"
    assert decode([2, 5, 3, 0]) == "[CLS] the [SEP] [PAD]"
    assert decode([2, 5, 3, 0], skip_special_tokens=True) == "the"
    assert decode([]) == ""
    batch = [[5, 6, 7], [8]]
    for ids in (batch, tf.ragged.constant(batch), [np.array(r) for r in batch]):
        assert decode(ids) == ["the quickly", "fox"]
    assert decode(np.array([[5, 8], [9, 10]])) == ["the fox", "jim hen"]
    assert decode(5) == decode(np.int64(5)) == "the"
    for wrong in (-1, 22, 5.0, "the", None):
        with pytest.raises(ValueError, match="`ids`"):
            decode([wrong])
        with pytest.raises(ValueError, match="`ids`"):
            decode(wrong)


def test_users_08_decoded_text_gives_the_same_ids(users_tokenizer):
    ids = users_tokenizer("The quickly-fox (1895-a). Jim Henson!").numpy()
    assert 1 not in ids
    text = users_tokenizer.detokenize(ids)
    assert users_tokenizer(text).numpy().tolist() == ids.tolist()


def test_vocabulary_tokens_that_no_text_can_give_keep_their_ids():
    odd = ["", "\u2028", "##\u2028", "\0", "a b", "##", "x\ny", "[unused1]"]
    tokenizer = BertTokenizer([*SPECIALS, *odd, "a", "b"])
    text = "a b \u2028 \0 ## x\ny [unused1]"
    found = set(tokenizer(text).numpy().tolist())
    assert found == {1, 13, 14}
