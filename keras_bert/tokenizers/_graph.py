"""WordPiece for one vocabulary in the TensorFlow graph.

    raw rows -> special tokens hidden, when asked -> normalised
             -> words over 200 code points made unknown -> tf-text WordPiece

There is no Python function and no table resource in the graph: a SavedModel,
tf.data and an eager call run the same operations.
"""

from keras_bert._tensorflow import tensorflow
from keras_bert._tensorflow import tensorflow_text
from keras_bert.tokenizers._normalize import LONGEST_WORD
from keras_bert.tokenizers._normalize import SPECIAL_STAND_INS
from keras_bert.tokenizers._normalize import hide_special_tokens
from keras_bert.tokenizers._normalize import normalize
from keras_bert.tokenizers._normalize import spoil_long_words
from keras_bert.tokenizers._offsets import code_point_spans


def _can_occur(token):
    return token.split() == [token] and min(token) > "\x1f"


class WordPieceGraph:
    """The operations for one vocabulary; rows are 1-D string tensors."""

    def __init__(
        self, vocabulary, special_ids, lowercase, strip_accents, specials
    ):
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        # The special tokens to be recognised in strings, or None.
        self.specials = specials
        self.special_ids = special_ids
        self.size = len(vocabulary)
        # No prepared text holds whitespace inside a word (the Chinese
        # vocabulary has two tokens with U+2028) or a control character. The
        # builder refuses some such tokens and would find others, so all of
        # them get a name that begins with a control character.
        tokens = [
            token if _can_occur(token) else f"\x01{i}"
            for i, token in enumerate(vocabulary)
        ]
        if specials:
            tokens += SPECIAL_STAND_INS
        # The builder also refuses a vocabulary of nothing but [UNK] and the
        # like, which no text gives.
        tokens.append("\x01")
        tf = tensorflow()
        with tf.init_scope():
            self.wordpiece = tensorflow_text().FastWordpieceTokenizer(
                vocab=tokens,
                max_bytes_per_word=4 * LONGEST_WORD,
                token_out_type=tf.int32,
                unknown_token="[UNK]",
            )

    def prepare(self, rows):
        if self.specials:
            rows = hide_special_tokens(rows, self.specials)
        rows = normalize(rows, self.lowercase, self.strip_accents)
        return spoil_long_words(rows)

    def tokenize(self, rows):
        """Ragged int32 ids [rows, (tokens)]."""
        ids = self.wordpiece.tokenize(self.prepare(rows))
        if self.specials:
            ids = ids.with_values(self._true_ids(ids.values))
        return ids

    def tokenize_with_offsets(self, rows):
        """Ids, starts and ends, each ragged int32 [rows, (tokens)]."""
        tf = tensorflow()
        ids, starts, ends = self.wordpiece.tokenize_with_offsets(
            self.prepare(rows)
        )
        start = tf.cast(starts.values, tf.int32)
        end = tf.cast(ends.values, tf.int32)
        if self.specials:
            # A stand-in lies one byte behind the bracket that it replaced.
            special = ids.values >= self.size
            lengths = tf.constant([len(token) for token in self.specials])
            which = tf.maximum(ids.values - self.size, 0)
            start = tf.where(special, start - 1, start)
            end = tf.where(special, start + tf.gather(lengths, which), end)
            ids = ids.with_values(self._true_ids(ids.values))
        start, end = code_point_spans(
            rows,
            tf.cast(ids.value_rowids(), tf.int32),
            start,
            end,
            self.lowercase,
            self.strip_accents,
        )
        return ids, ids.with_values(start), ids.with_values(end)

    def _true_ids(self, ids):
        tf = tensorflow()
        which = tf.maximum(ids - self.size, 0)
        special = tf.gather(tf.constant(self.special_ids, tf.int32), which)
        return tf.where(ids >= self.size, special, ids)
