"""The whole path: text files to batches."""

import hashlib
import os
import subprocess
import sys

import keras
import numpy as np
import pytest

from keras_bert.data import Corpus
from keras_bert.data import PretrainingBatches
from keras_bert.data import pretraining_batches
from keras_bert.data import pretraining_dataset
from keras_bert.data import windows


def batches_of(dataset):
    to_numpy = keras.tree.map_structure
    return [to_numpy(np.asarray, batch) for batch in dataset]


def digest(batches):
    sha = hashlib.sha256()
    for batch in batches:
        for array in keras.tree.flatten(batch):
            sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()


def test_shapes_and_types_are_static(file, tokenizer):
    dataset = pretraining_dataset(file, tokenizer, 64, 4)
    x, y, weight = dataset.element_spec
    shapes = {name: (tuple(s.shape), s.dtype.name) for name, s in x.items()}
    assert shapes == {
        "token_ids": ((4, 64), "int32"),
        "segment_ids": ((4, 64), "int32"),
        "padding_mask": ((4, 64), "int32"),
        "mask_positions": ((4, 10), "int32"),
        "cls_positions": ((4, 4), "int32"),
    }
    for specs, dtype in ((y, "int32"), (weight, "float32")):
        assert {
            name: (tuple(s.shape), s.dtype.name) for name, s in specs.items()
        } == {"mask_ids": ((4, 10), dtype), "next_sentence": ((4, 4), dtype)}
    found = batches_of(dataset)
    assert len(found) == len(dataset) > 3


@pytest.mark.parametrize("packing", [True, False])
@pytest.mark.parametrize("next_sentence", [True, False])
def test_every_row_is_made_of_whole_masked_sequences(
    file, tokenizer, packing, next_sentence
):
    corpus = Corpus.from_files(file, tokenizer)
    dataset = pretraining_dataset(
        corpus, tokenizer, 64, 4, packing=packing, next_sentence=next_sentence
    )
    text = set(corpus.ids.tolist())
    packed_rows = 0
    for x, y, weight in batches_of(dataset):
        if not next_sentence:
            y = {"mask_ids": y, "next_sentence": None}
            weight = {"mask_ids": weight, "next_sentence": None}
        for row in range(4):
            token_ids = x["token_ids"][row].copy()
            number = x["padding_mask"][row]
            chosen = weight["mask_ids"][row] > 0
            positions = x["mask_positions"][row][chosen]
            # Chosen positions ascend, hold text, never special tokens.
            assert (np.diff(positions) > 0).all()
            token_ids[positions] = y["mask_ids"][row][chosen]
            assert set(token_ids[positions].tolist()) <= text
            assert not x["mask_positions"][row][~chosen].any()
            count = number.max()
            packed_rows += count > 1
            assert count >= 1
            for k in range(1, count + 1):
                columns = np.flatnonzero(number == k)
                assert (np.diff(columns) == 1).all()
                sequence = token_ids[columns]
                segments = x["segment_ids"][row][columns]
                separators = np.flatnonzero(sequence == tokenizer.sep_token_id)
                assert len(separators) == 1 + next_sentence
                assert separators[-1] == len(sequence) - 1
                assert sequence[0] == tokenizer.cls_token_id
                assert (np.diff(segments) >= 0).all()
                assert segments.sum() == (
                    separators[-1] - separators[0] if next_sentence else 0
                )
                assert x["cls_positions"][row][k - 1] == columns[0]
                here = (positions >= columns[0]) & (positions <= columns[-1])
                # 15%, halves to even, at least one (spec, part D).
                assert here.sum() == max(1, round(0.15 * len(sequence)))
            assert not token_ids[number == 0].any()
            if next_sentence:
                weights = weight["next_sentence"][row]
                assert weights.tolist() == [
                    float(k < count) for k in range(len(weights))
                ]
    assert bool(packed_rows) == packing


def test_labels_give_back_the_text(file, tokenizer):
    corpus = Corpus.from_files(file, tokenizer)
    text = "".join(map(chr, corpus.ids))
    dataset = pretraining_dataset(
        corpus, tokenizer, 32, 2, next_sentence=False, mask_rate=0.5
    )
    changed = 0
    for x, y, weight in batches_of(dataset):
        for row in range(2):
            token_ids = x["token_ids"][row].copy()
            chosen = weight[row] > 0
            positions = x["mask_positions"][row][chosen]
            changed += (token_ids[positions] != y[row][chosen]).sum()
            token_ids[positions] = y[row][chosen]
            for k in range(1, x["padding_mask"][row].max() + 1):
                sequence = token_ids[x["padding_mask"][row] == k][1:-1]
                assert "".join(map(chr, sequence)) in text
    assert changed > 50


def test_epochs_differ_and_can_be_asked_for_again(file, tokenizer):
    dataset = pretraining_dataset(file, tokenizer, 64, 4)
    assert dataset.keras_bert_epoch.value == 0
    first, second = digest(batches_of(dataset)), digest(batches_of(dataset))
    assert first != second
    assert dataset.keras_bert_epoch.value == 2
    dataset.keras_bert_epoch.value = 0
    assert digest(batches_of(dataset)) == first
    assert digest(batches_of(dataset)) == second


def test_several_epochs_in_one_iteration(file, tokenizer):
    one = pretraining_dataset(file, tokenizer, 64, 4)
    three = pretraining_dataset(file, tokenizer, 64, 4, epochs=3)
    assert len(three) == 3 * len(one)
    apart = [batch for _ in range(3) for batch in batches_of(one)]
    assert digest(apart) == digest(batches_of(three))
    assert three.keras_bert_epoch.value == 3


def test_a_fixed_dataset_is_the_same_every_time(file, tokenizer):
    dataset = pretraining_dataset(file, tokenizer, 64, 4, fixed=True)
    assert digest(batches_of(dataset)) == digest(batches_of(dataset))


def test_the_seed_changes_everything_and_the_batch_size_nothing(
    file, tokenizer
):
    def rows(**arguments):
        dataset = pretraining_dataset(file, tokenizer, 64, **arguments)
        return np.concatenate([x["token_ids"] for x, _, _ in dataset])

    small, large = rows(batch_size=2), rows(batch_size=5)
    shorter = min(len(small), len(large))
    assert (small[:shorter] == large[:shorter]).all()
    other = rows(batch_size=2, seed=2)
    shorter = min(len(small), len(other))
    assert (small[:shorter] != other[:shorter]).any(axis=1).all()


def test_fewer_rows_than_a_batch_still_give_one_batch(file, tokenizer):
    dataset = pretraining_dataset(file, tokenizer, 64, 500)
    assert len(dataset) == 1
    ((x, _, _),) = batches_of(dataset)
    # Topped up by further draws, not by copies of the same rows.
    assert len(np.unique(x["token_ids"], axis=0)) > 480


def test_a_new_process_draws_the_same_batches(file, tokenizer):
    dataset = pretraining_dataset(file, tokenizer, 64, 4, seed=5)
    batches_of(dataset)
    script = f"""
import hashlib, numpy as np, keras
from keras_bert.tokenizers import BertTokenizer
from keras_bert.data import pretraining_dataset
tokenizer = BertTokenizer({tokenizer.vocabulary!r}, lowercase=True)
dataset = pretraining_dataset({file!r}, tokenizer, 64, 4, seed=5)
dataset.keras_bert_epoch.value = 1
sha = hashlib.sha256()
for batch in dataset:
    for array in keras.tree.flatten(batch):
        sha.update(np.ascontiguousarray(array).tobytes())
print(sha.hexdigest())
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "77"},
    )
    assert done.stdout.split()[-1] == digest(batches_of(dataset))


def test_special_tokens_that_a_text_brings_are_never_masked(tokenizer):
    corpus = Corpus([2, 5, 3, 4, 0, 6] * 20, [0, 60, 120], [0, 1, 2])
    dataset = pretraining_dataset(
        corpus, tokenizer, 32, 2, next_sentence=False, mask_rate=1.0
    )
    for _, y, weight in dataset:
        labels = np.unique(np.asarray(y)[np.asarray(weight) > 0])
        assert set(labels.tolist()) == {5, 6}


@pytest.mark.parametrize(
    "arguments, name",
    [
        ({"sequence_length": 4}, "sequence_length"),
        ({"sequence_length": 2, "next_sentence": False}, "sequence_length"),
        ({"sequence_length": 64.0}, "sequence_length"),
        ({"batch_size": 0}, "batch_size"),
        ({"seed": -1}, "seed"),
        ({"epochs": 0}, "epochs"),
        ({"mask_rate": 2}, "mask_rate"),
        ({"max_predictions": 0}, "max_predictions"),
        ({"short_seq_prob": 1.5}, "short_seq_prob"),
        ({"max_sequences_per_row": 0}, "max_sequences_per_row"),
        ({"file_format": "xml"}, "file_format"),
        ({"max_predictions": 2.5}, "max_predictions"),
        ({"next_sentence": "yes"}, "next_sentence"),
    ],
)
def test_wrong_arguments_are_refused_by_name(file, tokenizer, arguments, name):
    with pytest.raises(ValueError, match=f"argument `{name}`.*Received"):
        pretraining_dataset(file, tokenizer, **arguments)


@pytest.mark.filterwarnings("ignore:.*ran out of data")
def test_training_can_set_the_epoch_that_keras_peeks_away(file, tokenizer):
    dataset = pretraining_dataset(file, tokenizer, 32, 4)
    expected = [batches_of(dataset)[0][0]["token_ids"] for _ in range(3)]
    seen = []

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(10)
            self.dense.build((None, 1))

        def call(self, x):
            numbers = keras.ops.cast(x["mask_positions"], "float32")[..., None]
            return self.dense(numbers)[..., 0]

        def train_step(self, *arguments):
            batch = arguments[-1]
            seen.append(np.asarray(batch[0]["token_ids"]))
            return super().train_step(*arguments)

    class SetEpoch(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            dataset.keras_bert_epoch.value = epoch

    first = dataset.map(lambda x, y, w: (x, w["mask_ids"]))
    model = Model()
    model.compile("sgd", "mse", run_eagerly=True, jit_compile=False)
    model.fit(first, epochs=3, verbose=0, callbacks=[SetEpoch()])
    steps = len(dataset)
    found = seen[-3 * steps :: steps]
    assert len(found) == 3
    for one, other in zip(found, expected, strict=True):
        assert (one == other).all()


def test_one_document_means_no_next_sentence(tmp_path, tokenizer):
    path = tmp_path / "one.txt"
    path.write_text("w0 w1 w2\nw3 w4\n" * 30)
    with pytest.warns(UserWarning, match="one document.*without"):
        dataset = pretraining_dataset(str(path), tokenizer, 16, 2)
    assert not isinstance(dataset.element_spec[1], dict)
    with pytest.raises(ValueError, match="argument `next_sentence`"):
        pretraining_dataset(str(path), tokenizer, 16, 2, next_sentence=True)


def test_users_13_documents_of_one_sentence_are_warned_about(
    tmp_path, tokenizer
):
    path = tmp_path / "a.txt"
    path.write_text("w0 w1\n\nw2 w3\n\nw4 w5")
    with pytest.warns(UserWarning, match="one sentence.*label 1"):
        dataset = pretraining_dataset(str(path), tokenizer, 16, 1)
    labels = np.concatenate([y["next_sentence"] for _, y, _ in dataset])
    weights = np.concatenate([w["next_sentence"] for _, _, w in dataset])
    assert (labels == weights).all()
    path.write_text("w0 w1\nw2 w3\nw4 w5\n\nw0 w1\nw2 w3\nw4 w5")
    dataset = pretraining_dataset(str(path), tokenizer, 32, 1, epochs=20)
    found = [y["next_sentence"][0, 0] for _, y, _ in dataset]
    assert set(map(int, found)) == {0, 1}


def test_users_18_the_number_of_steps_is_known_and_the_data_end(
    shared, uncased
):
    dataset = pretraining_dataset(
        str(shared / "text_en" / "sample_text.txt"), uncased, 128, 4
    )
    assert int(dataset.cardinality()) == len(batches_of(dataset)) == 2


def test_a_run_goes_on_at_any_batch_of_any_epoch(file, tokenizer):
    whole = pretraining_dataset(file, tokenizer, 32, 4, epochs=3)
    wanted = [digest([batch]) for batch in batches_of(whole)]
    per_epoch = len(wanted) // 3
    assert per_epoch > 3
    for epoch, skip in ((0, 2), (1, 0), (1, per_epoch - 1), (2, 1)):
        rest = pretraining_dataset(
            file, tokenizer, 32, 4, epochs=3 - epoch,
            start_epoch=epoch, skip=skip,
        )  # fmt: skip
        expected = wanted[epoch * per_epoch + skip :]
        assert len(rest) == len(expected)
        # Again and again: what Keras peeks at does not move the start.
        for _ in range(2):
            assert [digest([one]) for one in batches_of(rest)] == expected


def test_skipped_batches_are_not_made(file, tokenizer, monkeypatch):
    batches = PretrainingBatches(
        Corpus.from_files(file, tokenizer), tokenizer, 32, 4
    )
    skip = batches.batches_per_epoch - 1
    wanted = list(batches.epoch(3))[skip:]
    made = []
    rows = pretraining_batches.masked_rows

    def counted(window, *arguments):
        made.append(window.layout.num_rows)
        return rows(window, *arguments)

    monkeypatch.setattr(windows, "WINDOW_TOKENS", 200)
    monkeypatch.setattr(pretraining_batches, "masked_rows", counted)
    small = PretrainingBatches(
        Corpus.from_files(file, tokenizer), tokenizer, 32, 4
    )
    found = list(small.epoch(3, small.batches_per_epoch - 1))
    assert len(found) == len(wanted) == 1
    assert sum(made) < small.rows_of_first_epoch / 3


@pytest.mark.parametrize(
    ("name", "value"),
    [("start_epoch", -1), ("start_epoch", 1.5), ("skip", -1), ("skip", 9999)],
)
def test_a_start_that_does_not_exist_is_refused(file, tokenizer, name, value):
    with pytest.raises(ValueError, match=f"argument `{name}`.*Received"):
        pretraining_dataset(file, tokenizer, 32, 4, **{name: value})
