"""Rules that hold for any text."""

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from reference_tokenizer import split_words
from reference_tokenizer import tokenize

from keras_bert.tokenizers import BertTokenizer

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = "aeioxnσςàß가中字-.!?\u1100\u1161é\u0301"
VOCABULARY = list(
    dict.fromkeys(
        [*SPECIALS, *LETTERS, *("##" + c for c in LETTERS), "an", "##ei", "##"]
    )
)
IDS = {token: i for i, token in enumerate(VOCABULARY)}
TOKENIZERS = {case: BertTokenizer(VOCABULARY, case) for case in (True, False)}

# Half from what is likely to go wrong, half from all of Unicode.
CHARACTERS = st.one_of(
    st.sampled_from(
        LETTERS + "AEΣİ\u0308\u200d\0\t\n \u3000\u2028\ufffd😀É[]SPU\ufdd0"
    ),
    st.characters(exclude_categories=["Cs", "Cn"]),
)
TEXT = st.text(CHARACTERS, max_size=30)
BATCH = st.lists(TEXT, min_size=1, max_size=8)
QUICK = settings(max_examples=60, deadline=None, derandomize=True)


@pytest.mark.parametrize("lowercase", [True, False])
@given(batch=BATCH)
@QUICK
def test_ids_equal_the_definition_alone_and_in_any_batch(lowercase, batch):
    tokenizer = TOKENIZERS[lowercase]
    rows = tokenizer(batch).to_list()
    assert rows == [tokenize(text, IDS, lowercase) for text in batch]
    assert tokenizer(batch[-1]).numpy().tolist() == rows[-1]


@pytest.mark.parametrize("lowercase", [True, False])
@given(batch=BATCH)
@QUICK
def test_the_normalised_span_of_a_token_is_its_piece(lowercase, batch):
    parts = TOKENIZERS[lowercase].tokenize_with_offsets(batch)
    assert parts[0].to_list() == TOKENIZERS[lowercase](batch).to_list()
    rows = zip(batch, *(part.to_list() for part in parts), strict=True)
    for text, *columns in rows:
        for token, start, end in zip(*columns, strict=True):
            assert 0 <= start < end <= len(text)
            if token == IDS["[UNK]"]:
                continue
            piece = VOCABULARY[token].removeprefix("##")
            # A sigma alone does not know whether it is final.
            span = "".join(split_words(text[start:end], lowercase))
            span, piece = (s.replace("ς", "σ") for s in (span, piece))
            assert span == piece or (end - start == 1 and piece in span)


@pytest.mark.parametrize("lowercase", [True, False])
@given(text=TEXT)
@QUICK
def test_decoded_ids_encode_to_themselves(lowercase, text):
    tokenizer = TOKENIZERS[lowercase]
    known = [i for i in tokenizer(text).numpy().tolist()]
    if IDS["[UNK]"] in known:
        # Word by word, so that the known words of any text are tested.
        words = split_words(text, lowercase)
        known = [
            i
            for row in tokenizer(words).to_list()
            if IDS["[UNK]"] not in row
            for i in row
        ]
    again = tokenizer(tokenizer.detokenize(known))
    assert again.numpy().tolist() == known
