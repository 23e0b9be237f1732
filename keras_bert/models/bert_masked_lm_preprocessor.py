"""Preprocessor of the masked language model: joins, then hides tokens."""

import math
import zlib

import keras
import numpy as np

from keras_bert._tensorflow import tensorflow
from keras_bert.data import masking
from keras_bert.models.bert_preprocessor import BertPreprocessor


@keras.saving.register_keras_serializable("keras_bert")
class BertMaskedLMPreprocessor(BertPreprocessor):
    """Texts to rows with hidden tokens, and the tokens as targets.

    The masks are drawn anew at every call, so that every epoch sees others.
    With a `seed` they depend on the seed and on the row alone: the same text
    always has the same masks, as an evaluation needs them.

    Args:
        tokenizer: a `BertTokenizer`.
        sequence_length: int. Length of every row.
        truncate: `"longest_first"` or `"only_second"`.
        mask_selection_rate: share of a row's tokens that are chosen.
        mask_selection_length: the most tokens chosen in a row, and the width
            of `mask_positions`; `None` is the rate times `sequence_length`,
            rounded up.
        mask_token_rate: share of the chosen tokens that become `[MASK]`.
        random_token_rate: share of the chosen tokens that become a random
            token; the rest stays.
        seed: int or `None`.

    Call arguments:
        x: a string, a batch of strings, or a pair (tuple) of these.

    Returns `(x, y, sample_weight)`: `x` a dict of int32 `token_ids`,
    `segment_ids`, `padding_mask` `[batch, sequence_length]` and
    `mask_positions` `[batch, masks]`; `y` the int32 true ids and
    `sample_weight` the float32 weights, `[batch, masks]`, 0 where a row has
    fewer masks.

    Raises:
        ValueError: if a rate is not a share, or two of them exceed 1.

    Example:

    ```python
    preprocessor = keras_bert.BertMaskedLMPreprocessor(
        tokenizer, sequence_length=128
    )
    x, y, sample_weight = preprocessor(["A sentence to fill in."])
    ```

    Source: Devlin et al. (2018), section 3.1 and appendix A.1.
    """

    def __init__(
        self,
        tokenizer,
        sequence_length=128,
        truncate="longest_first",
        mask_selection_rate=0.15,
        mask_selection_length=None,
        mask_token_rate=0.8,
        random_token_rate=0.1,
        seed=None,
    ):
        super().__init__(tokenizer, sequence_length, truncate)
        self.mask_selection_rate = mask_selection_rate
        self.mask_selection_length = mask_selection_length
        self.mask_token_rate = mask_token_rate
        self.random_token_rate = random_token_rate
        self.seed = seed
        self._masking = masking.Masking(
            mask_selection_rate,
            mask_token_rate,
            random_token_rate,
            mask_selection_length
            or max(1, math.ceil(mask_selection_rate * sequence_length)),
        )
        self._masking.check()

    def __call__(self, x, y=None, sample_weight=None):
        tf = tensorflow()
        rows = self.rows(x)
        single = rows["token_ids"].shape.rank == 1
        token_ids = rows["token_ids"]
        if single:
            token_ids = token_ids[None]
        token_ids.set_shape((token_ids.shape[0], self.sequence_length))
        masked, positions, labels, weights = tf.numpy_function(
            self._mask,
            [token_ids],
            (tf.int32, tf.int32, tf.int32, tf.float32),
        )
        masked.set_shape(token_ids.shape)
        slots = (token_ids.shape[0], self._masking.max_predictions)
        for values in (positions, labels, weights):
            values.set_shape(slots)
        if single:
            masked, positions, labels, weights = (
                values[0] for values in (masked, positions, labels, weights)
            )
        rows = {**rows, "token_ids": masked, "mask_positions": positions}
        return rows, labels, weights

    def _mask(self, token_ids):
        """Numpy rows in; masked ids, positions, labels and weights out."""
        tokenizer, rates = self.tokenizer, self._masking
        token_ids = np.asarray(token_ids)
        special = [
            tokenizer.pad_token_id,
            tokenizer.cls_token_id,
            tokenizer.sep_token_id,
        ]
        vocabulary_size = tokenizer.vocabulary_size()
        if self.seed is None:
            # numpy's global generator is what set_random_seed seeds.
            rng = np.random.default_rng(np.random.randint(2**31 - 1))
            draws = masking.draw(rng, *token_ids.shape, vocabulary_size, rates)
        else:
            draws = masking.Draws(
                *(
                    np.concatenate(parts)
                    for parts in zip(
                        *(
                            masking.draw(
                                np.random.default_rng(
                                    (self.seed, zlib.crc32(row.tobytes()))
                                ),
                                1,
                                len(row),
                                vocabulary_size,
                                rates,
                            )
                            for row in token_ids
                        ),
                        strict=True,
                    )
                )
            )
        lengths = (token_ids != tokenizer.pad_token_id).sum(axis=1)
        masked, positions, labels, chosen = masking.mask(
            token_ids,
            ~np.isin(token_ids, special),
            masking.mask_counts(lengths, rates),
            draws,
            tokenizer.mask_token_id,
            rates,
        )
        return masked, positions, labels, chosen.astype(np.float32)

    def get_config(self):
        return {
            **super().get_config(),
            "mask_selection_rate": self.mask_selection_rate,
            "mask_selection_length": self.mask_selection_length,
            "mask_token_rate": self.mask_token_rate,
            "random_token_rate": self.random_token_rate,
            "seed": self.seed,
        }
