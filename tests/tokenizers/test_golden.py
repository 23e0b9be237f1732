"""Ids equal to those that google-research/bert's own code wrote down."""

import gzip
import json

import pytest
from reference_tokenizer import tokenize

NAMES = ("uncased", "cased", "chinese")


@pytest.fixture(scope="module")
def golden(shared):
    """Vocabulary name -> list of (text, ids) of both files."""
    rows = {name: [] for name in NAMES}
    for file in ("golden", "golden_codepoints"):
        path = shared / "tokenizer" / f"{file}.jsonl.gz"
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                rows[row["vocab"]].append((row["text"], row["ids"]))
    return rows


@pytest.mark.parametrize("name", NAMES)
def test_ids_equal_the_original_on_every_golden_text(golden, released, name):
    texts, expected = zip(*golden[name], strict=True)
    assert len(texts) > 1000
    ids = released[name](list(texts)).to_list()
    wrong = [
        (text, got, right)
        for text, got, right in zip(texts, ids, expected, strict=True)
        if got != right
    ]
    assert wrong == []


@pytest.mark.parametrize("name", NAMES)
def test_the_plain_reference_of_these_tests_equals_the_original(
    golden, released, name
):
    vocabulary = released[name].vocabulary
    ids = {t: i for i, t in enumerate(vocabulary) if t.strip() == t}
    for text, right in golden[name][::7]:
        assert tokenize(text, ids, name != "cased") == right


# Ids published or printed by the original code for the released vocabularies.
PUBLISHED = [
    (
        "uncased",
        "Who was Jim Henson ? Jim Henson was a puppeteer",
        "2040 2001 3958 27227 1029 3958 27227 2001 1037 13997 11510",
    ),
    ("uncased", "Hello, how are you?", "7592 1010 2129 2024 2017 1029"),
    ("uncased", "John Johanson's house", "2198 13093 3385 1005 1055 2160"),
    ("uncased", "unaffable", "14477 20961 3468"),
    ("uncased", "philammon", "6316 3286 8202"),
    ("uncased", "1895-1943).", "6301 1011 3826 1007 1012"),
    ("uncased", "Straße naïve", "2358 27807 15743"),
    ("uncased", "$100.50", "1002 2531 1012 2753"),
    ("uncased", "😀", "100"),
    (
        "uncased",
        "[CLS] i am going to [MASK] [SEP]",
        "1031 18856 2015 1033 1045 2572 2183 2000 1031 7308 1033 1031 19802 "
        "1033",
    ),
    ("uncased", "今天天气怎么样", "100 1811 1811 100 100 100 100"),
    ("cased", "Hello, how are you?", "8667 117 1293 1132 1128 136"),
    ("cased", "John Johanson's house", "1287 13402 2142 112 188 1402"),
    ("cased", "Straße naïve", "1457 1611 13750 9468 28203 2707"),
    ("cased", "unaffable", "8362 9823 8057 2165"),
    ("chinese", "今天天气怎么样", "791 1921 1921 3698 2582 720 3416"),
    ("chinese", "Hello, how are you?", "8701 117 9510 8995 8357 136"),
]


@pytest.mark.parametrize(("name", "text", "ids"), PUBLISHED)
def test_ids_of_published_examples(released, name, text, ids):
    assert released[name](text).numpy().tolist() == [
        int(i) for i in ids.split()
    ]


@pytest.mark.parametrize(
    "letter", ["a", "é", "Σ", "д", "\u0915", "\u20ac", "\U0001d4b3", "😀"]
)
def test_a_word_of_200_code_points_is_cut_and_of_201_unknown(specials, letter):
    from keras_bert.tokenizers import BertTokenizer

    letter = letter.casefold()
    vocabulary = [*specials, letter, "##" + letter, "."]
    tokenizer = BertTokenizer(vocabulary)
    first, inner, stop, unknown = 5, 6, 7, 1
    assert tokenizer(letter * 200).numpy().tolist() == [first] + [inner] * 199
    assert tokenizer(letter * 201).numpy().tolist() == [unknown]
    # The limit counts words, wherever they stand and whatever ends them.
    text = f"{letter}.{letter * 201}.{letter * 200} {letter * 900}"
    assert tokenizer(text).numpy().tolist() == (
        [first, stop, unknown, stop, first] + [inner] * 199 + [unknown]
    )
