"""Both pretraining tasks on real batches."""

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert.data import Corpus

DOCUMENTS = [
    ["the quick fox jumps .", "it was fun .", "a dog was lazy ."],
    ["the film was good .", "it was dull .", "a film was bad ."],
    ["over a dog jumps the fox .", "it was lazy .", "the dog was quick ."],
]


def _dataset(tokenizer, **arguments):
    return keras_bert.pretraining_dataset(
        Corpus.from_documents(DOCUMENTS * 4, tokenizer),
        tokenizer,
        **{
            "sequence_length": 32,
            "batch_size": 4,
            "max_sequences_per_row": 2,
            **arguments,
        },
    )


@pytest.fixture(scope="module")
def pretrainer(make_backbone, tokenizer):
    keras.utils.set_random_seed(2)
    return keras_bert.BertPretrainer(make_backbone(), preprocessor=tokenizer)


def test_one_batch_can_be_learned_by_heart(make_backbone, tokenizer):
    keras.utils.set_random_seed(2)
    model = keras_bert.BertPretrainer(
        make_backbone(dropout=0.0, attention_dropout=0.0, hidden_dim=32)
    )
    model.compile(learning_rate=keras_bert.WarmupDecay(5e-3, 5, 80))
    x, y, weight = next(_dataset(tokenizer).as_numpy_iterator())
    losses = [
        model.train_on_batch(x, y, weight, return_dict=True)["loss"]
        for _ in range(60)
    ]
    assert losses[-1] < 0.3 * losses[0]


def test_outputs_have_the_shapes_of_the_targets(pretrainer, tokenizer):
    x, y, _ = next(_dataset(tokenizer).as_numpy_iterator())
    out = pretrainer.predict(x, verbose=0)
    size = tokenizer.vocabulary_size()
    assert out["mask_ids"].shape == (*y["mask_ids"].shape, size)
    assert out["next_sentence"].shape == (*y["next_sentence"].shape, 2)
    alone = {key: x[key] for key in x if key != "cls_positions"}
    out = pretrainer.predict(alone, verbose=0)
    assert out["next_sentence"].shape == (4, 2)


def test_without_next_sentence_output_and_target_are_single_arrays(
    make_backbone, tokenizer
):
    model = keras_bert.BertPretrainer(make_backbone(), next_sentence=False)
    dataset = _dataset(tokenizer, next_sentence=False)
    x, y, weight = next(dataset.as_numpy_iterator())
    assert isinstance(y, np.ndarray) and isinstance(weight, np.ndarray)
    assert model.predict(x, verbose=0).shape[:2] == y.shape
    model.fit(dataset, verbose=0)


def test_loss_is_the_sum_of_two_weighted_means(pretrainer, tokenizer):
    # Hand computation of spec A.5 and E: mean over masked tokens plus mean
    # over sentence pairs.
    x, y, weight = next(_dataset(tokenizer).as_numpy_iterator())
    out = pretrainer.predict(x, verbose=0)

    def mean_loss(logits, labels, weights):
        logits = logits.astype("float64")
        log_z = np.log(np.exp(logits).sum(-1))
        picked = np.take_along_axis(logits, labels[..., None], -1)[..., 0]
        return ((log_z - picked) * weights).sum() / weights.sum()

    expected = sum(mean_loss(out[k], y[k], weight[k]) for k in out)
    found = pretrainer.test_on_batch(x, y, weight, return_dict=True)["loss"]
    assert found == pytest.approx(expected, abs=1e-4)
    # Negative control: counting unused slots gives another number.
    wrong = sum(mean_loss(out[k], y[k], np.ones_like(weight[k])) for k in out)
    assert abs(wrong - expected) > 1e-2


def test_fit_follows_the_epochs(pretrainer, tokenizer):
    dataset = _dataset(tokenizer)
    expected = [
        batch[0]["token_ids"]
        for _ in range(2)
        for batch in dataset.as_numpy_iterator()
    ]
    seen = []

    class Spy(keras_bert.BertPretrainer):
        def _check_ids(self, x):
            if "token_ids" in x and isinstance(x["token_ids"], np.ndarray):
                seen.append(np.array(x["token_ids"]))

    spy = Spy(pretrainer.backbone)
    fresh = _dataset(tokenizer)
    spy.fit(fresh, epochs=2, verbose=0)
    # Keras may look at batches before it trains, and tf.data works on several
    # at a time: what counts is that the batches of both epochs came.
    seen = {rows.tobytes() for rows in seen}
    assert {rows.tobytes() for rows in expected} <= seen
    fresh.keras_bert_epoch.value = 5
    later = {b[0]["token_ids"].tobytes() for b in fresh.as_numpy_iterator()}
    assert not later & seen


def test_documents_as_strings(pretrainer):
    texts = [" ".join(document) for document in DOCUMENTS]
    scores = pretrainer.evaluate(texts, verbose=0, return_dict=True)
    again = pretrainer.evaluate(texts, verbose=0, return_dict=True)
    assert scores == again
    assert scores["mask_ids_perplexity"] == pytest.approx(
        np.exp(scores["mask_ids_loss"]), rel=1e-3
    )
    pretrainer.fit(texts, verbose=0)


def test_next_sentence_needs_a_pooler(make_backbone):
    with pytest.raises(ValueError, match="argument `next_sentence`"):
        keras_bert.BertPretrainer(
            make_backbone(pooler=False), next_sentence=True
        )
    model = keras_bert.BertPretrainer(make_backbone(pooler=False))
    assert model.next_sentence_head is None


def test_strings_without_a_preprocessor_are_refused(make_backbone):
    with pytest.raises(ValueError, match="argument `x`"):
        keras_bert.BertPretrainer(make_backbone()).fit(["a text"])


def test_users_20_a_small_grammar_is_learned_to_95_percent():
    """Two layers on a deterministic grammar of 20 words.

    Four subjects, each with its own verb, object, place and end: whatever
    word is hidden, the others of the sentence name it.
    """
    keras.utils.set_random_seed(1)
    families = [[f"w{k}{part}" for part in range(5)] for k in range(4)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary += [word for family in families for word in family]
    tokenizer = keras_bert.BertTokenizer(vocabulary)
    rng = np.random.default_rng(0)

    def documents(count):
        return [
            [" ".join(families[k]) for k in rng.integers(0, 4, 6)]
            for _ in range(count)
        ]

    def dataset(corpus, fixed):
        return keras_bert.pretraining_dataset(
            Corpus.from_documents(corpus, tokenizer),
            tokenizer,
            sequence_length=48,
            batch_size=32,
            max_sequences_per_row=2,
            short_seq_prob=0.0,
            fixed=fixed,
        )

    model = keras_bert.BertPretrainer(
        keras_bert.BertBackbone(
            vocabulary_size=25,
            num_layers=2,
            num_heads=2,
            hidden_dim=64,
            intermediate_dim=128,
            dropout=0.0,
            attention_dropout=0.0,
            max_sequence_length=48,
            # Small data and few steps: BERT's 0.02 takes far longer.
            initializer_range=0.1,
        )
    )
    held_out = dataset(documents(100), fixed=True)
    before = model.evaluate(held_out, verbose=0, return_dict=True)
    model.compile(learning_rate=5e-3)
    model.fit(dataset(documents(400), fixed=False), epochs=12, verbose=0)
    after = model.evaluate(held_out, verbose=0, return_dict=True)
    assert before["mask_ids_accuracy"] < 0.2
    assert after["mask_ids_accuracy"] >= 0.95
