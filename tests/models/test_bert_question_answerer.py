"""The question answerer: spans of characters, windows, no answer."""

import warnings

import keras
import numpy as np
import pytest

import keras_bert

LONG = "it was good . " * 6 + "The dog, (foxs)."
QUESTIONS = ["jumps", "film", "dog", "fox"]
CONTEXTS = ["The quick fox jumps over a dog."] * 2 + [
    LONG,
    "a dull film, a fox",
]
ANSWERS = [
    {"text": "quick fox", "start": 4},
    {"text": "", "start": -1},
    [{"text": "foxs", "start": LONG.index("foxs")}, {"text": "x", "start": 0}],
    {"text": "film", "start": 7},
]
TEXTS = ["quick fox", "", "foxs", "film"]
KEYS = {"text", "score", "null_score", "start", "end"}


@pytest.fixture(scope="module")
def make(tokenizer, make_backbone):
    def make(sequence_length=32, doc_stride=12, **settings):
        preprocessor = keras_bert.BertQuestionAnswererPreprocessor(
            tokenizer,
            sequence_length=sequence_length,
            doc_stride=doc_stride,
            **settings,
        )
        return keras_bert.BertQuestionAnswerer(
            make_backbone(num_layers=1, dropout=0.0, attention_dropout=0.0),
            preprocessor=preprocessor,
        )

    return make


@pytest.fixture(scope="module")
def untrained(make):
    return make()


@pytest.fixture(scope="module")
def trained(make):
    keras.utils.set_random_seed(1)
    model = make()
    model.compile(learning_rate=1e-2)
    model.fit((QUESTIONS, CONTEXTS), ANSWERS, epochs=60, verbose=0)
    return model


def _columns():
    first = [a[0] if isinstance(a, list) else a for a in ANSWERS]
    return {key: [a[key] for a in first] for key in ("text", "start")}


def _dataset(*parts, size=4):
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices(parts).batch(size)


def test_a_toy_task_is_learned(trained):
    found = trained.predict((QUESTIONS, CONTEXTS), verbose=0)
    assert [f["text"] for f in found] == TEXTS
    for one, context in zip(found, CONTEXTS, strict=True):
        assert set(one) == KEYS
        if one["text"]:
            assert context[one["start"] : one["end"]] == one["text"]
            assert one["score"] > one["null_score"]
        else:
            assert (one["start"], one["end"]) == (-1, -1)
            assert one["null_score"] > one["score"]
    scores = trained.evaluate(
        (QUESTIONS, CONTEXTS), ANSWERS, verbose=0, return_dict=True
    )
    assert scores["start_accuracy"] == scores["end_accuracy"] == 1


def test_the_loss_is_the_mean_of_two_cross_entropies(untrained):
    x, y = untrained.preprocessor((QUESTIONS, CONTEXTS), ANSWERS)
    rows = {key: np.asarray(value) for key, value in x.items()}
    outputs = untrained.predict(rows, verbose=0)
    losses = []
    for key, logits in outputs.items():
        # All columns count, padding too, as in run_squad.py.
        logits = logits.astype("float64")
        total = np.log(np.exp(logits).sum(axis=1))
        gold = np.asarray(y[key])
        losses.append(np.mean(total - logits[np.arange(len(gold)), gold]))
    found = untrained.evaluate((QUESTIONS, CONTEXTS), ANSWERS, verbose=0)
    np.testing.assert_allclose(found[0], np.mean(losses), atol=1e-4)


def test_answer_takes_one_question_or_many(trained):
    one = trained.answer(QUESTIONS[0], CONTEXTS[0])
    assert one["text"] == "quick fox"
    many = trained.answer(QUESTIONS[:2], CONTEXTS[0])
    assert [m["text"] for m in many] == ["quick fox", ""]
    best = trained.answer(QUESTIONS[0], CONTEXTS[0], top_k=3)
    assert best[0]["text"] == "quick fox" and len(best) == 3
    totals = [b["start_logit"] + b["end_logit"] for b in best]
    assert totals == sorted(totals, reverse=True)


def test_order_and_batch_size_do_not_matter(trained):
    found = trained.predict((QUESTIONS, CONTEXTS), verbose=0)
    backwards = trained.predict(
        (QUESTIONS[::-1], CONTEXTS[::-1]), batch_size=2, verbose=0
    )
    for one, other in zip(found, backwards[::-1], strict=True):
        assert one["text"] == other["text"]
        assert one["score"] == pytest.approx(other["score"], abs=1e-4)


def test_padding_never_takes_the_place_of_an_answer(make, monkeypatch):
    model = make(n_best=1)

    def call(rows):
        # [CLS] fox [SEP] a dog [SEP]: "dog" is best but for the padding.
        logits = np.where(rows["padding_mask"] == 0, 9.0, -1.0)
        logits[:, 4] = 5.0
        return {"start": logits, "end": logits}

    monkeypatch.setattr(model, "predict_on_batch", call)
    found = model.answer("fox", "a dog")
    assert (found["text"], found["score"]) == ("dog", 10.0)


def test_all_ways_in_give_the_same_loss_and_answers(untrained):
    x = (QUESTIONS, CONTEXTS)
    expected = untrained.evaluate(x, ANSWERS, verbose=0)
    rows, y, weight = untrained.preprocessor(x, ANSWERS, [1.0] * 4)
    rows, y = (
        {key: np.asarray(value) for key, value in part.items()}
        for part in (rows, y)
    )
    assert np.asarray(weight["start"]).tolist() == [1.0] * len(y["start"])
    for found in (
        untrained.evaluate(x, _columns(), verbose=0),
        untrained.evaluate(_dataset(x, _columns()), verbose=0),
        untrained.evaluate(_dataset(x, _columns(), [1.0] * 4), verbose=0),
        untrained.evaluate(rows, y, verbose=0),
        untrained.evaluate(_dataset(rows, y, size=99), verbose=0),
        untrained.test_on_batch(x, ANSWERS),
        untrained.evaluate(x, ANSWERS, sample_weight=[1] * 4, verbose=0),
    ):
        np.testing.assert_allclose(found, expected, atol=1e-4)
    answers = untrained.predict(x, verbose=0)
    for found in (
        untrained.predict(_dataset(x, size=3), verbose=0),
        untrained.predict_on_batch(x),
    ):
        assert [f["text"] for f in found] == [a["text"] for a in answers]
    outputs = untrained.predict(rows, verbose=0)
    assert outputs["start"].shape == rows["token_ids"].shape


def test_users_27_labels_are_the_pieces_of_the_characters(untrained):
    context = "dog (fox-fox)."
    rows, y = untrained.preprocessor(
        ("fox", context), {"text": "fox", "start": 9}
    )
    ids = np.asarray(rows["token_ids"])[0]
    tokens = [untrained.tokenizer.id_to_token(i) for i in ids]
    start, end = int(y["start"][0]), int(y["end"][0])
    # [CLS] fox [SEP] dog [UNK]( fox [UNK]- fox [UNK]) . [SEP]
    assert (start, end) == (7, 7)
    assert tokens[start] == "fox"


def test_users_27_a_start_off_by_one_is_mended_and_counted(untrained):
    off = [{**ANSWERS[0], "start": 5}, *ANSWERS[1:]]
    with pytest.warns(UserWarning, match="1 of 4 answers"):
        found = untrained.evaluate((QUESTIONS, CONTEXTS), off, verbose=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        right = untrained.evaluate((QUESTIONS, CONTEXTS), ANSWERS, verbose=0)
    np.testing.assert_allclose(found, right, atol=1e-5)


def test_an_answer_of_nothing_is_labelled_as_none(untrained):
    context = "a \x00 fox"
    x = (["fox", "fox"], [context] * 2)
    answers = [{"text": "\x00", "start": 2}, {"text": "fox", "start": 4}]
    with pytest.warns(UserWarning, match="1 of 2 answers in `y`.*keeps"):
        _, y, _ = untrained._text_batch(x, answers, None)
    assert list(y["start"] > 0) == list(y["end"] > 0) == [False, True]


def test_a_question_is_a_string(untrained):
    for question in (None, [None], 3):
        with pytest.raises(ValueError, match="`x`.*strings"):
            untrained.answer(question, "a fox")


def test_texts_need_a_preprocessor(make_backbone):
    model = keras_bert.BertQuestionAnswerer(make_backbone(num_layers=1))
    with pytest.raises(ValueError, match="`preprocessor`"):
        model.answer("who ?", "a fox", top_k=2)


def test_users_24_no_valid_span_gives_the_empty_text(make):
    model = make(n_best=1, max_answer_length=1, null_threshold=None)
    # With one start and one end per window most questions have no span, an
    # empty context never has one.
    found = model.predict(
        (["dog", "", "\U0001f600"], ["", "a fox", "\U0001f600"]), verbose=0
    )
    assert found[0]["text"] == ""
    assert all(np.isfinite(f["score"]) for f in found)
    question = "fox " * 40
    assert len(model.predict(([question], [LONG]), verbose=0)) == 1
    # Asked to keep the whole question, there is no room for a context.
    with pytest.raises(ValueError, match="sequence_length.*question 0"):
        make(max_query_length=64).predict(([question], [LONG]), verbose=0)


def test_users_25_a_stride_that_skips_tokens_is_refused(make):
    model = make(doc_stride=29)
    with pytest.raises(ValueError, match="doc_stride.*1 to 28.*question 2"):
        model.predict((QUESTIONS, CONTEXTS), verbose=0)
    # Where one window is enough, none is skipped.
    assert len(model.predict((QUESTIONS[:2], CONTEXTS[:2]), verbose=0)) == 2


def test_users_26_windows_advance_by_the_stride(untrained):
    windows = untrained.preprocessor.windows(["dog"], [LONG])
    assert windows.start.tolist() == [0, 12]
    assert (windows.start + windows.size).tolist()[-1] == 32


def test_users_29_three_calls_of_one_shape_trace_once(untrained, monkeypatch):
    traces = []
    call = type(untrained).call

    def counted(self, inputs, training=None):
        traces.append(1)
        return call(self, inputs, training)

    monkeypatch.setattr(type(untrained), "call", counted)
    untrained.predict_function = None
    counts = []
    for context in ("a dog", "the fox jumps", "good , dull"):
        untrained.predict((["fox"], [context]), verbose=0)
        counts.append(len(traces))
    if keras.config.backend() == "torch":
        # There is no trace: every batch is a call, and one batch only.
        assert counts == [1, 2, 3]
    else:
        assert counts == counts[:1] * 3


def test_the_null_threshold_is_kept_and_obeyed(make, trained, tmp_path):
    always = make(null_threshold=None)
    always.set_weights(trained.get_weights())
    assert always.answer(QUESTIONS[1], CONTEXTS[1])["text"] != ""
    never = make(null_threshold=-1e9)
    never.set_weights(trained.get_weights())
    assert never.answer(QUESTIONS[0], CONTEXTS[0])["text"] == ""


def test_the_preprocessor_is_the_same_mapped_and_direct(untrained):
    preprocessor = untrained.preprocessor
    x, y = preprocessor((QUESTIONS, CONTEXTS), ANSWERS)
    direct = [*x.values(), *y.values()]
    whole = _dataset((QUESTIONS, CONTEXTS), _columns())
    for dataset in (whole.unbatch(), whole):
        elements = list(dataset.map(preprocessor).as_numpy_iterator())
        parts = [[*x.values(), *y.values()] for x, y in elements]
        for found, value in zip(zip(*parts, strict=True), direct, strict=True):
            assert np.array_equal(np.concatenate(found), value)


def test_the_default_preprocessor_follows_the_original(
    tokenizer, make_backbone
):
    model = keras_bert.BertQuestionAnswerer(
        make_backbone(num_layers=1, max_sequence_length=512),
        preprocessor=tokenizer,
    )
    config = model.preprocessor.get_config()
    del config["tokenizer"]
    # The flags of run_squad.py.
    assert config == {
        "sequence_length": 384,
        "doc_stride": 128,
        "max_query_length": 64,
        "n_best": 20,
        "max_answer_length": 30,
        "null_threshold": 0.0,
    }


def test_file_and_preset_give_the_same_answers(trained, tmp_path):
    trained.save(tmp_path / "m.keras")
    trained.save_to_preset(tmp_path / "preset")
    expected = trained.predict((QUESTIONS, CONTEXTS), verbose=0)
    loaded = keras.saving.load_model(tmp_path / "m.keras")
    assert loaded.get_compile_config() == trained.get_compile_config()
    for model in (loaded, keras_bert.load(tmp_path / "preset")):
        assert type(model) is keras_bert.BertQuestionAnswerer
        assert model.preprocessor.get_config() == (
            trained.preprocessor.get_config()
        )
        found = model.predict((QUESTIONS, CONTEXTS), verbose=0)
        for one, other in zip(found, expected, strict=True):
            assert one["text"] == other["text"]
            assert one["score"] == pytest.approx(other["score"], abs=1e-4)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (
            (["a"], ["the dog"]),
            [{"text": "fox", "start": 4}],
            "`y`.*question 0",
        ),
        ((["a"], ["the dog"]), [{"text": "dog"}], "`y`.*`start`.*question 0"),
        ((["a"], ["the dog"]), [{"text": "", "start": 2}], "`y`.*-1"),
        ((["a"], ["the dog"]), [], "`y`"),
        ((["a"], []), [], "`x`.*1 questions and 0 contexts"),
        (([], []), [], "`x`"),
        (["a"], None, "`x`.*pair"),
        ((["a"], [3]), None, "`x`.*position 0"),
    ],
)
def test_bad_input_names_the_argument(untrained, x, y, message):
    with pytest.raises(ValueError, match=message):
        untrained.fit(x, y, verbose=0)


def test_short_rows_leave_room_for_a_context(tokenizer):
    """By default a question of any length is cut to fit."""
    for length in (16, 24, 64, 96, 128):
        preprocessor = keras_bert.BertQuestionAnswererPreprocessor(
            tokenizer, sequence_length=length
        )
        windows = preprocessor.windows(["fox " * 200], ["dog " * 200])
        assert len(windows.rows) > 1


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_the_threshold_is_a_number(tokenizer, value):
    with pytest.raises(ValueError, match="`null_threshold`.*finite"):
        keras_bert.BertQuestionAnswererPreprocessor(
            tokenizer, null_threshold=value
        )


@pytest.mark.parametrize(
    "name", ["doc_stride", "max_query_length", "n_best", "max_answer_length"]
)
def test_settings_are_positive(tokenizer, name):
    with pytest.raises(ValueError, match=f"`{name}`"):
        keras_bert.BertQuestionAnswererPreprocessor(tokenizer, **{name: 0})
