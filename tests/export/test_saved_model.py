"""An exported classifier in a process without keras_bert."""

import numpy as np
import pytest

LABELS = ["schlecht", "gut", "größte"]


def softmax(logits):
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def assert_serves(answer, logits):
    """The outputs of serving_default that belong to these logits."""
    assert "error" not in answer, answer
    assert sorted(answer) == ["label", "logits", "probabilities"]
    np.testing.assert_allclose(answer["logits"], logits, atol=1e-5)
    np.testing.assert_allclose(
        answer["probabilities"], softmax(logits), atol=1e-5
    )
    assert answer["label"] == [LABELS[i] for i in logits.argmax(-1)]


def test_the_reload_needs_tensorflow_and_tensorflow_text_only(exported):
    # TensorFlow itself may bring keras and, where installed, jax.
    ours = {"keras_bert", "keras_hub", "keras_nlp", "torch"}
    assert not ours & set(exported.modules)


def test_signatures_have_the_names_of_the_contract(exported):
    assert exported.inputs == {
        "serving_default": ["text", "text_pair"],
        "ids": ["padding_mask", "segment_ids", "token_ids"],
    }


@pytest.mark.parametrize("index", range(3))
def test_users_43_strings_give_the_logits_of_the_process(exported, index):
    _, values = exported.requests[f"text {index}"]
    logits = exported.model.predict(values["text"], verbose=0)
    assert np.ptp(logits) > 1e-2  # not a model that gives one answer
    assert_serves(exported.answers[f"text {index}"], logits)
    values = (values["text"], ["the dog"])
    logits = exported.model.predict(values, verbose=0)
    assert_serves(exported.answers[f"pair {index}"], logits)


@pytest.mark.parametrize("name", ["texts", "texts by serve"])
def test_a_batch_of_texts_and_the_default_of_text_pair(exported, name):
    texts = exported.requests["texts"][1]["text"]
    logits = exported.model.predict(texts, verbose=0)
    assert_serves(exported.answers[name], logits)


@pytest.mark.parametrize("name", ["mixed", "mixed by serve"])
def test_an_empty_text_pair_is_no_second_segment_row_by_row(exported, name):
    texts, pairs = exported.requests["mixed by serve"][1]
    rows = [
        (text, pair) if pair else text
        for text, pair in zip(texts, pairs, strict=True)
    ]
    logits = np.concatenate(
        [
            exported.model.predict(
                ([row[0]], [row[1]]) if isinstance(row, tuple) else [row],
                verbose=0,
            )
            for row in rows
        ]
    )
    assert_serves(exported.answers[name], logits)


def test_the_pair_has_a_say(exported):
    answers = exported.answers
    single = np.array(answers["text 1"]["logits"])
    pair = np.array(answers["pair 1"]["logits"])
    assert np.abs(single - pair).max() > 1e-3


def test_a_long_text_is_cut_by_the_preprocessor(exported):
    texts = exported.requests["long"][1][0]
    logits = exported.model.predict(texts, verbose=0)
    assert_serves(exported.answers["long"], logits)


def test_a_wrong_number_of_pairs_is_refused_with_both_numbers(exported):
    error = exported.answers["wrong pairs"]["error"]
    assert "text_pair" in error
    assert "[2] [3]" in error


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("length", [1, 7, 19])
def test_users_44_any_batch_and_length_and_all_inputs(exported, batch, length):
    _, rows = exported.requests[f"ids {batch} {length}"]
    answer = exported.answers[f"ids {batch} {length}"]
    assert list(answer) == ["logits"]
    logits = exported.model.predict(rows, verbose=0)
    np.testing.assert_allclose(answer["logits"], logits, atol=1e-5)
    # Masked positions change nothing; segments do.
    disturbed = exported.answers[f"noise {batch} {length}"]
    np.testing.assert_allclose(disturbed["logits"], logits, atol=1e-5)
    zeros = {**rows, "segment_ids": np.zeros_like(rows["segment_ids"])}
    if rows["segment_ids"][rows["padding_mask"] > 0].any():
        other = exported.model.predict(zeros, verbose=0)
        assert np.abs(other - logits).max() > 1e-3


def test_ids_hold_no_text_operation(exported):
    def text(ops):
        words = ("String", "Regex", "Wordpiece", "Normalize", "Utf", "Unicode")
        return [op for op in ops if any(word in op for word in words)]

    assert not text(exported.ops["ids"])
    assert any("BatchMatMul" in op or "MatMul" in op
               for op in exported.ops["ids"])  # fmt: skip
    # The same search does find them where they are.
    assert any("Wordpiece" in op or "Bert" in op
               for op in text(exported.ops["serving_default"]))  # fmt: skip


@pytest.mark.parametrize(
    "name, parts",
    [
        ("too large", ["token_ids", "vocabulary_size=21", "[21]"]),
        ("negative", ["token_ids", "at least 0", "[-3]"]),
        ("segment", ["segment_ids", "num_segments=2", "[2]"]),
        ("shape", ["padding_mask", "shape of token_ids"]),
        ("length", ["token_ids", "max_sequence_length=32", "[33]"]),
    ],
)
def test_the_graph_refuses_what_has_no_row(exported, name, parts):
    error = exported.answers[f"wrong {name}"]["error"]
    for part in parts:
        assert part in error


def test_labels_and_vocabulary_are_in_the_graph(exported):
    assert not list((exported.folder / "assets").glob("*"))


def test_only_the_folder_is_left(exported):
    assert not list(exported.folder.parent.glob(".*"))


def test_users_22_the_folder_holds_the_weights_once(exported):
    parameters = exported.model.count_params()
    weights = exported.folder / "variables" / "variables.data-00000-of-00001"
    # The file's own lists of names are what a tiny model adds to it.
    graph_of_objects = 8_000
    assert 0 <= weights.stat().st_size - 4 * parameters < graph_of_objects
    # Adam's slots would show.
    assert 3 * 4 * parameters > 4 * parameters + graph_of_objects
    # The graph with a tokenizer is 2% of the smallest released model but
    # one, bert_mini with 11.2 million parameters (google-research/bert).
    graph = exported.folder / "saved_model.pb"
    assert graph.stat().st_size < 3_000_000
