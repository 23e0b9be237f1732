"""Every code point there is, alone and between letters."""

import re
import unicodedata

import pytest
from reference_tokenizer import tokenize

from keras_bert.tokenizers import BertTokenizer
from keras_bert.tokenizers import _unicode

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
POINTS = [*range(0xD800), *range(0xE000, 0x20000)]
POINTS += [*range(0x2F800, 0x2FA20), *range(0xE0000, 0xE0200)]
# Nothing is assigned in between but ideographs: a sample is enough.
POINTS += range(0x20000, 0x110000, 97)
VOCABULARY = [*SPECIALS, "a", "b", "##b", "σ", "##σ", "ς", "##ς"]


@pytest.fixture(scope="module")
def characters():
    all_of_them = [chr(point) for point in POINTS]
    if unicodedata.unidata_version == "14.0.0":
        return all_of_them
    # The library has the tables of Unicode 14 on every Python. Where the
    # interpreter has others, code points assigned long before are compared.
    old = unicodedata.ucd_3_2_0
    return [c for c in all_of_them if old.category(c) != "Cn"]


def wrong(vocabulary, texts, lowercase):
    ids = {token: i for i, token in enumerate(vocabulary)}
    got = BertTokenizer(vocabulary, lowercase)(texts).to_list()
    return [
        text
        for text, row in zip(texts, got, strict=True)
        if row != tokenize(text, ids, lowercase)
    ]


@pytest.mark.parametrize("lowercase", [True, False])
def test_splitting_and_deleting_equal_the_definition(characters, lowercase):
    texts = [f"a{c}b {c}" for c in characters]
    assert wrong(VOCABULARY, texts, lowercase) == []


def test_lower_case_and_decomposition_equal_the_definition(characters):
    # A vocabulary with every character shows what each one became. Unknown
    # to Unicode 14 and replaced by a stand-in are only unassigned ones.
    tokens = [c for c in characters if not c.isspace() and c not in "ab"]
    vocabulary = [*VOCABULARY[:8], *tokens, *("##" + c for c in tokens)]
    vocabulary = list(dict.fromkeys(vocabulary))
    texts = [f"a{c}b" for c in characters]
    different = wrong(vocabulary, texts, True)
    assert {unicodedata.category(text[1]) for text in different} <= {"Cn"}
    assert len(different) < 100


@pytest.mark.parametrize("context", ["{}Σ", "aΣ{}b"])
def test_final_sigma_is_told_as_python_tells_it(characters, context):
    texts = [context.format(c) for c in characters]
    assert wrong(VOCABULARY, texts, True) == []


def test_hidden_code_points_were_unassigned_when_the_original_ran():
    codes = re.findall(r"\\x\{(\w+)\}", _unicode.NEWER)
    assert len(codes) > 40
    for code in codes:
        assert unicodedata.ucd_3_2_0.category(chr(int(code, 16))) == "Cn"
