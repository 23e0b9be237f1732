"""No pipeline of ours runs tf.data's autotuning, whose thread ends late."""

import keras
import numpy as np

import keras_bert as kb
from keras_bert._tensorflow import tensorflow
from keras_bert._tensorflow import without_autotune

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"]


def backbone():
    return kb.BertBackbone(
        vocabulary_size=8, num_layers=1, num_heads=2, hidden_dim=8,
        intermediate_dim=16, max_sequence_length=32,
    )  # fmt: skip


def is_off(dataset):
    return dataset.options().autotune.enabled is False


def test_it_is_off_wherever_fit_gets_its_batches():
    tokenizer = kb.BertTokenizer(WORDS)
    model = kb.BertTextClassifier(
        backbone(), num_classes=2, preprocessor=tokenizer
    )
    x, y = ["a b", "c"], np.array([0, 1])
    assert is_off(model._data(x, y, None, 2, shuffle=True)["x"])
    tf = tensorflow()
    own = tf.data.Dataset.from_tensor_slices((x, y)).batch(2)
    assert is_off(model._data(own, None, None, None)["x"])
    tagger = kb.BertTokenClassifier(
        backbone(), num_classes=2, preprocessor=tokenizer
    )
    words = [["a", "b"], ["c"]]
    assert is_off(tagger._data(words, [[0, 1], [1]], None, 2)["x"])
    documents = [["a b c", "b c", "a"], ["c a", "b b", "c"]]
    corpus = kb.data.Corpus.from_documents(documents, tokenizer)
    assert is_off(kb.pretraining_dataset(corpus, tokenizer, 16, 1))


def test_the_choice_of_the_user_stays():
    tf = tensorflow()
    plain = tf.data.Dataset.range(3)
    # Negative control: nothing turns it off by itself.
    assert plain.options().autotune.enabled is None
    options = tf.data.Options()
    options.autotune.enabled = True
    chosen = without_autotune(plain.with_options(options))
    assert chosen.options().autotune.enabled is True
    assert keras.ops.convert_to_numpy(next(iter(chosen))) == 0
