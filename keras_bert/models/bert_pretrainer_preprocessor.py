"""Preprocessor of the pretrainer: documents to pairs, masked and packed."""

import keras

from keras_bert._errors import invalid
from keras_bert.data import Corpus
from keras_bert.data import pretraining_dataset
from keras_bert.data import split_sentences
from keras_bert.models.bert_preprocessor import BertPreprocessor


@keras.saving.register_keras_serializable("keras_bert")
class BertPretrainerPreprocessor(BertPreprocessor):
    """Documents, each one string, to batches for `BertPretrainer`.

    Called on a list of documents it gives what `pretraining_dataset` gives
    for files: each document is split into sentences, sentences are drawn into
    segment pairs, pairs are masked and packed into rows.

    Args:
        tokenizer: a `BertTokenizer`.
        sequence_length: int. Length of the packed rows.
        packing: whether several pairs share a row.
        next_sentence: whether the pairs carry next-sentence labels; `None`
            does so for two or more documents.
        seed: int. Pairs and masks depend on it and on the epoch.

    Call arguments:
        x: a list of strings, a document each.
        batch_size: int.

    Returns a tf.data dataset of `(x, y, sample_weight)`.

    Raises:
        ValueError: if there is no text.

    Example:

    ```python
    preprocessor = keras_bert.BertPretrainerPreprocessor(tokenizer)
    for x, y, sample_weight in preprocessor(["One. Two. Three.", "Four."]):
        print(x["token_ids"].shape)
    ```

    Source: Devlin et al. (2018), section 3.1 and appendix A.1.
    """

    def __init__(
        self,
        tokenizer,
        sequence_length=128,
        packing=True,
        next_sentence=None,
        seed=1,
    ):
        super().__init__(tokenizer, sequence_length)
        self.packing = packing
        self.next_sentence = next_sentence
        self.seed = seed

    def __call__(self, x, batch_size=32, next_sentence=None):
        documents = [x] if isinstance(x, str) else list(x)
        for document in documents:
            if not isinstance(document, str):
                raise invalid("x", "a list of documents (strings)", document)
        return pretraining_dataset(
            Corpus.from_documents(
                [split_sentences(document) for document in documents],
                self.tokenizer,
            ),
            self.tokenizer,
            sequence_length=self.sequence_length,
            batch_size=batch_size,
            seed=self.seed,
            packing=self.packing,
            next_sentence=(
                self.next_sentence if next_sentence is None else next_sentence
            ),
        )

    def get_config(self):
        config = super().get_config()
        del config["truncate"]
        return {
            **config,
            "packing": self.packing,
            "next_sentence": self.next_sentence,
            "seed": self.seed,
        }
