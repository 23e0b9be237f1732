"""BertTokenizer: text to WordPiece ids as the original BERT gives them."""

import json
import os
import threading

import keras

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert.tokenizers._graph import WordPieceGraph
from keras_bert.tokenizers._strings import as_strings
from keras_bert.tokenizers._strings import detokenize
from keras_bert.tokenizers._strings import is_id
from keras_bert.tokenizers._strings import warn_of_missing
from keras_bert.tokenizers._vocabulary_file import SPECIAL_TOKENS
from keras_bert.tokenizers._vocabulary_file import check_vocabulary
from keras_bert.tokenizers._vocabulary_file import read_vocabulary
from keras_bert.tokenizers._vocabulary_file import write_text
from keras_bert.tokenizers._vocabulary_file import write_vocabulary
from keras_bert.tokenizers._vocabulary_training import train_vocabulary

# Threads that share a tokenizer wait for the first one to build its graph.
_building = threading.RLock()

# Set by the checkpoints package, which this one may not import.
_source_reader = None


def set_source_reader(function):
    """`function(source)` gives keyword arguments of BertTokenizer, or None."""
    global _source_reader
    _source_reader = function


@keras.saving.register_keras_serializable("keras_bert")
class BertTokenizer:
    """Text to WordPiece ids, equal to the original BERT on every string.

    The ids are those of google-research/bert with the character tables of
    Unicode 14: control characters and U+FFFD are deleted, ideographs stand
    alone, `lowercase` also strips accents, words over 200 characters are
    [UNK], and so is every word with a character that no piece covers, such
    as most emoji. Invalid UTF-8 is dropped as Python's `errors="ignore"`
    drops it. No special tokens are added: `keras_bert.data.SegmentJoiner`
    does that.

    A plain callable and no Keras layer: it takes Python strings on every
    backend and runs as a TensorFlow graph, the same one when called
    directly, in `tf.data` and in a SavedModel.

    Args:
        vocabulary: list of str, or the path of a file: one token a line,
            the line number being the id, or a JSON list of tokens or object
            of token and id, or a `tokenizer.json` of a WordPiece model.
        lowercase: bool. Whether the model was trained on lower-cased text.
        strip_accents: bool, or `None` to follow `lowercase` as the original
            does.
        special_tokens_in_strings: bool. Whether "[MASK]" and the four other
            special tokens typed in a text stand for themselves. By default
            they are split like any text, so that no text can yield the id
            of [SEP].

    Call arguments:
        text: str, list of str (or of lists), array, or string tensor of any
            shape, ragged or not.

    Returns:
        int32 ids: 1-D for one string, `tf.RaggedTensor [batch, (tokens)]`
        for a list.

    Raises:
        ValueError: if the vocabulary lacks a special token, repeats a token
            or cannot be read; the message names the line.

    Example:

    ```python
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words += ["the", "quick", "##ly", "fox"]
    tokenizer = keras_bert.BertTokenizer(words, lowercase=True)
    tokenizer("The fox")             # [5, 8]
    tokenizer(["the", "quickly"])    # [[5], [6, 7]]
    tokenizer.detokenize([5, 6, 7])  # "the quickly"
    dataset = tf.data.Dataset.from_tensor_slices(["a fox"]).map(tokenizer)
    ```

    Attributes:
        vocabulary: list of str. The token of each id.
        pad_token_id, unk_token_id, cls_token_id, sep_token_id,
            mask_token_id: int.
        special_token_ids: list of the five, in this order.

    Source: https://github.com/google-research/bert/blob/master/tokenization.py
    """

    def __init__(
        self,
        vocabulary,
        lowercase=False,
        strip_accents=None,
        special_tokens_in_strings=False,
    ):
        if isinstance(vocabulary, (str, os.PathLike)):
            vocabulary = read_vocabulary(vocabulary)
        elif isinstance(vocabulary, (list, tuple)):
            vocabulary = list(vocabulary)
            check_vocabulary(vocabulary)
        else:
            raise invalid("vocabulary", "a list of str or a file", vocabulary)
        for name, value in (
            ("lowercase", lowercase),
            ("strip_accents", strip_accents),
            ("special_tokens_in_strings", special_tokens_in_strings),
        ):
            # A string such as "false" would be true.
            if value not in (True, False) and (
                name != "strip_accents" or value is not None
            ):
                raise invalid(name, "True or False", value)
        self.vocabulary = vocabulary
        self.lowercase = bool(lowercase)
        self.strip_accents = (
            None if strip_accents is None else bool(strip_accents)
        )
        self.special_tokens_in_strings = bool(special_tokens_in_strings)
        self._ids = {token: i for i, token in enumerate(vocabulary)}
        self.pad_token_id = self._ids["[PAD]"]
        self.unk_token_id = self._ids["[UNK]"]
        self.cls_token_id = self._ids["[CLS]"]
        self.sep_token_id = self._ids["[SEP]"]
        self.mask_token_id = self._ids["[MASK]"]
        self.special_token_ids = [self._ids[t] for t in SPECIAL_TOKENS]
        self._graph = None
        self._eager = {}

    # The graph is built at the first use: a configuration that is only
    # passed on needs no TensorFlow.
    def _wordpiece(self):
        if self._graph is None:
            strip = self.strip_accents
            self._graph = WordPieceGraph(
                self.vocabulary,
                self.special_token_ids,
                self.lowercase,
                self.lowercase if strip is None else strip,
                SPECIAL_TOKENS if self.special_tokens_in_strings else None,
            )
        return self._graph

    def _run(self, method, rows):
        """`WordPieceGraph.method` on a 1-D tensor, compiled when eager."""
        tf = tensorflow()
        function = getattr(self._wordpiece(), method)
        if not tf.executing_eagerly():
            return tf.autograph.experimental.do_not_convert(function)(rows)
        with _building:
            if method not in self._eager:
                self._eager[method] = tf.function(
                    function,
                    input_signature=[tf.TensorSpec([None], tf.string)],
                    autograph=False,
                ).get_concrete_function()
        return self._eager[method](rows)

    def _apply(self, method, text):
        """`_run` on text of any rank; a tuple of results stays a tuple."""
        tf = tensorflow()
        text = as_strings(text)

        def each(result, function):
            if isinstance(result, tuple):
                return tuple(function(part) for part in result)
            return function(result)

        if isinstance(text, tf.RaggedTensor):
            result = self._run(method, text.flat_values)
            return each(result, text.with_flat_values)
        if text.shape.rank == 0:
            return each(self._run(method, text[None]), lambda r: r.values)
        result = self._run(method, tf.reshape(text, [-1]))
        for axis in range(text.shape.rank - 1, 0, -1):
            size = tf.shape(text, tf.int64)[axis]
            result = each(
                result,
                lambda r, size=size: tf.RaggedTensor.from_uniform_row_length(
                    r, size
                ),
            )
        return result

    def __call__(self, text):
        return self._apply("tokenize", text)

    def tokenize_with_offsets(self, text):
        """Ids, and where each token lies in the text.

        Takes what a call takes and returns (ids, starts, ends) of one shape.
        Starts and ends count code points of the text as it was passed (as
        Python indexes a str), so `text[start:end]` is what the token stands
        for. The span of [UNK] is the whole word. Where one character gives
        several pieces, as Hangul does, they share its span.
        """
        return self._apply("tokenize_with_offsets", text)

    def tokenize_words(self, words, return_missing=False):
        """Ids of texts that are already split into words.

        Args:
            words: list of str for one text, or list of lists for a batch;
                also a string tensor of rank 1, or of rank 2, ragged or not.
            return_missing: bool. Whether to return the words without a
                piece as well.

        Returns:
            (ids, word_ids): the pieces, and for each the index of its word
            in the text; int32, 1-D for one text and ragged for a batch. A
            word of nothing but spaces or control characters yields no
            piece: its index is missing in `word_ids`. Such words are named
            in a warning, or returned as a third result, their indices
            `(words,)` per text, when `return_missing` is true (inside a
            graph there is no warning).
        """
        ids, word_ids, missing = self._apply_words(words)
        if return_missing:
            return ids, word_ids, missing
        tf = tensorflow()
        if tf.executing_eagerly():
            warn_of_missing(missing)
        return ids, word_ids

    def _apply_words(self, words):
        tf = tensorflow()
        words = as_strings(words, "words")
        one_text = words.shape.rank == 1
        if one_text:
            words = words[None]
        if words.shape.rank != 2:
            raise invalid("words", "one list of words or a batch", words)
        if not isinstance(words, tf.RaggedTensor):
            words = tf.RaggedTensor.from_tensor(words)
        pieces = self._run("tokenize", words.values)
        column = tf.cast(tf.ragged.range(words.row_lengths()).values, tf.int32)
        ids = tf.RaggedTensor.from_row_splits(
            pieces.values, tf.gather(pieces.row_splits, words.row_splits)
        )
        word_ids = ids.with_values(tf.gather(column, pieces.value_rowids()))
        missing = tf.ragged.boolean_mask(
            words.with_values(column),
            words.with_values(pieces.row_lengths() == 0),
        )
        if one_text:
            return ids.values, word_ids.values, missing.values
        return ids, word_ids, missing

    def detokenize(self, ids, skip_special_tokens=False):
        """Ids back to text: pieces joined to words, words with spaces.

        Takes one list of ids (returns a str) or a batch (returns a list of
        str): Python lists, arrays, tensors or ragged tensors. Ids that came
        from a text without [UNK] give a text with the same ids again; case,
        accents and spacing of the original text are not restored.
        """
        return detokenize(
            ids,
            self.vocabulary,
            set(self.special_token_ids) if skip_special_tokens else set(),
        )

    def vocabulary_size(self):
        return len(self.vocabulary)

    def id_to_token(self, id):
        if not is_id(id, self.vocabulary):
            raise invalid("id", f"0 to {len(self.vocabulary) - 1}", id)
        return self.vocabulary[id]

    def token_to_id(self, token):
        if not isinstance(token, str) or token not in self._ids:
            raise invalid("token", "a token of the vocabulary", token)
        return self._ids[token]

    @classmethod
    def train(
        cls,
        files,
        vocabulary_size=30522,
        lowercase=False,
        strip_accents=None,
        special_tokens_in_strings=False,
        minimum_frequency=2,
        layout="specials_first",
        progress=None,
        sampling=None,
    ):
        """A tokenizer with a vocabulary trained on text files.

        Files may have any size; the memory needed follows the number of
        distinct words. The same files give the same vocabulary. Every
        character of the text is in it, so that no word of the text up to
        200 characters is [UNK].

        Args:
            files: list of paths of UTF-8 text, or one path; or a dict from
                the name of a language to an iterable of its text, in pieces
                (str) that end between words.
            vocabulary_size: int. The most tokens. Fewer come out when the
                text has no more pairs that occur `minimum_frequency` times.
            lowercase, strip_accents, special_tokens_in_strings: as in the
                constructor; the words are normalised as the tokenizer does.
            minimum_frequency: int. How often a pair of pieces must occur to
                become a piece.
            layout: "specials_first" ([PAD] [UNK] [CLS] [SEP] [MASK] are ids
                0 to 4), or "released" (ids 0 and 100 to 103, with the unused
                tokens of the published vocabularies).
            progress: function of (bytes read, bytes in all), or `None`.
            sampling: with several languages, the exponent of their shares,
                0.7 in multilingual BERT: the words of a language count as
                often as its share to this power. `None`: as they are.
        """
        strip = lowercase if strip_accents is None else strip_accents
        vocabulary = train_vocabulary(
            files,
            vocabulary_size,
            bool(lowercase),
            bool(strip),
            minimum_frequency,
            layout,
            progress,
            sampling,
        )
        return cls(
            vocabulary, lowercase, strip_accents, special_tokens_in_strings
        )

    @classmethod
    def from_preset(cls, preset, **kwargs):
        """The tokenizer of a folder with a vocabulary and its settings.

        Anything else that `BertBackbone.from_preset` reads (a run folder, a
        zip, a hub name) is read by the checkpoints package.
        """
        preset = os.fspath(preset)
        settings = _source_reader(preset) if _source_reader else None
        if settings is None:
            path = os.path.join(preset, "vocab.txt")
            if not os.path.isfile(path):
                raise invalid("preset", "a folder with vocab.txt", preset)
            settings = {"vocabulary": path}
        settings = {**settings, **kwargs}
        if settings.get("lowercase") is None:
            raise invalid(
                "lowercase",
                f"True or False, because {preset} has no "
                "tokenizer_config.json with do_lower_case",
                None,
            )
        return cls(**settings)

    def save_to_preset(self, preset, vocabulary_file="vocab.txt"):
        """Writes the vocabulary and tokenizer_config.json into a folder."""
        preset = os.fspath(preset)
        write_vocabulary(self.vocabulary, os.path.join(preset, vocabulary_file))
        config = {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": self.lowercase,
            "strip_accents": self.strip_accents,
            "special_tokens_in_strings": self.special_tokens_in_strings,
            "tokenize_chinese_chars": True,
        }
        for token in SPECIAL_TOKENS:
            config[token[1:-1].lower() + "_token"] = token
        write_text(
            json.dumps(config, indent=2) + "\n",
            os.path.join(preset, "tokenizer_config.json"),
        )

    def get_config(self):
        return {
            "vocabulary": list(self.vocabulary),
            "lowercase": self.lowercase,
            "strip_accents": self.strip_accents,
            "special_tokens_in_strings": self.special_tokens_in_strings,
        }

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def __reduce__(self):
        # Compiled functions cannot be copied; worker processes build theirs.
        return _rebuild, (type(self), self.get_config())


def _rebuild(cls, config):
    return cls.from_config(config)
