"""Bodies that are refused, each with what is wrong."""

import json

import pytest

from keras_bert.serving import answers
from keras_bert.serving.requests import BadRequest
from keras_bert.serving.requests import TokenCounter
from keras_bert.serving.requests import parse

FIELDS = {
    "classifier": {"text": "text", "text_pair": "text?"},
    "tagger": {"words": "words"},
    "choice": {"context": "text", "endings": "texts"},
    "masked": {"text": "text"},
}


def description(kind):
    return {"kind": kind, "fields": FIELDS[kind], "mask": "[MASK]"}


@pytest.mark.parametrize(
    ("kind", "body", "part"),
    [
        ("classifier", b"\xff{}", "no UTF-8 (byte 0)"),
        ("classifier", b"{", "no JSON"),
        ("classifier", b"[" * 100_000, "no JSON"),
        ("classifier", b'{"text": ' + b"9" * 5000 + b"}", "no JSON"),
        ("classifier", b'"a"', "an object with `text`, `text_pair` (optional)"),
        ("classifier", b"{}", "lacks `text`"),
        ("classifier", b'{"text": null}', "lacks `text`"),
        ("classifier", b'{"text": 3}', "`text` must be a string"),
        ("classifier", b'{"text": ["a"]}', "`text` must be a string"),
        ("classifier", b'{"text": "a", "x": 1}', "holds `x`; known are `text`"),
        ("classifier", b'{"text": "\\ud800"}', "lone surrogate"),
        ("classifier", b'{"inputs": []}', "`inputs` must be a list"),
        ("classifier", b'{"inputs": {}}', "`inputs` must be a list"),
        ("classifier", b'{"inputs": [{"text": "a"}, 3]}', "`inputs[1]` must"),
        ("tagger", b'{"words": []}', "`words` must be a string or a list"),
        ("tagger", b'{"words": [1]}', "`words` must be a string or a list"),
        ("choice", b'{"context": "a", "endings": "b"}', "a list of strings"),
        ("choice", b'{"context": "a", "endings": []}', "one at least"),
        ("masked", b'{"text": "a"}', "[MASK] at least once"),
    ],
)
def test_bad_bodies_are_refused_with_what_is_wrong(kind, body, part):
    with pytest.raises(BadRequest) as caught:
        parse(body, description(kind))
    assert part in str(caught.value)
    assert caught.value.status == 400


def test_too_many_inputs_are_too_large():
    body = json.dumps({"inputs": [{"text": "a"}] * 65}).encode()
    with pytest.raises(
        BadRequest, match="64 objects at most, not 65"
    ) as caught:
        parse(body, description("classifier"))
    assert caught.value.status == 413


def test_one_and_several():
    one = {"text": "a", "text_pair": None}
    body = json.dumps(one).encode()
    assert parse(body, description("classifier")) == ([one], False)
    body = json.dumps({"inputs": [one]}).encode()
    assert parse(body, description("classifier")) == ([one], True)


def test_tokens_are_counted_as_the_model_has_them(models):
    for name, request in (
        ("classifier", {"text": "The óld dogs.", "text_pair": None}),
        ("classifier", {"text": "a fox", "text_pair": "the cat ran"}),
    ):
        count = TokenCounter(answers.describe(models[name]))
        texts = tuple(text for text in request.values() if text)
        rows = models[name].preprocessor(texts if len(texts) == 2 else texts[0])
        tokens = int(rows["padding_mask"].numpy().sum())
        assert count(request) == (tokens, False)
    # 30 words, [CLS] and [SEP] are a full row; one word more is lost.
    count = TokenCounter(answers.describe(models["classifier"]))
    assert count({"text": "fox " * 30}) == (32, False)
    assert count({"text": "fox " * 31}) == (32, True)
    count = TokenCounter(answers.describe(models["tagger"]))
    # Read in windows.
    assert count({"words": ["fox"] * 99}) == (101, False)
    # With masks the model refuses what it cannot read.
    count = TokenCounter(answers.describe(models["masked"]))
    assert count({"text": "[MASK] " * 99})[1] is False
    count = TokenCounter(answers.describe(models["choice"]))
    # [CLS] a [SEP] b c [SEP], for each ending.
    assert count({"context": "a", "endings": ["b", "c d"]}) == (2 * 6, False)
    assert count({"context": "a", "endings": ["b", "c " * 99]})[1] is True
