import pytest

from keras_bert.data import split_sentences

# Expected splits are by hand.
EXAMPLES = [
    ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
    ("Mr. Smith met Dr. Who. He left.", ["Mr. Smith met Dr. Who.", "He left."]),
    ("See e.g. Fig. 3 of J. S. Bach.", ["See e.g. Fig. 3 of J. S. Bach."]),
    ("It cost 3.50 dollars. Yes.", ["It cost 3.50 dollars.", "Yes."]),
    (
        "'Why?' she said. “Go!” He went.",
        ["'Why?' she said.", "“Go!”", "He went."],
    ),
    (
        "She lives at No. 5. He said no. Then",
        ["She lives at No. 5.", "He said no.", "Then"],
    ),
    ("3. Method of work. It is new.", ["3. Method of work.", "It is new."]),
    (
        "Wait... then go. (Really.) Yes",
        ["Wait... then go.", "(Really.)", "Yes"],
    ),
    (
        "第一句。第二句！“第三句？”第四",
        ["第一句。", "第二句！", "“第三句？”", "第四"],
    ),
    ("no mark at all", ["no mark at all"]),
    ("  \t ", []),
]


@pytest.mark.parametrize("text, expected", EXAMPLES)
def test_prose_is_split_at_sentence_ends(text, expected):
    assert split_sentences(text) == expected


def test_no_word_is_lost():
    text = " ".join(text for text, _ in EXAMPLES)
    joined = "".join(split_sentences(text))
    assert "".join(joined.split()) == "".join(text.split())
