"""BertTokenizer: text to WordPiece ids as the original BERT gives them."""

import json
import os

import keras

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert.tokenizers._graph import WordPieceGraph
from keras_bert.tokenizers._vocabulary_file import SPECIAL_TOKENS
from keras_bert.tokenizers._vocabulary_file import check_vocabulary
from keras_bert.tokenizers._vocabulary_file import read_vocabulary
from keras_bert.tokenizers._vocabulary_file import write_text
from keras_bert.tokenizers._vocabulary_file import write_vocabulary


@keras.saving.register_keras_serializable("keras_bert")
class BertTokenizer:
    """Text to WordPiece ids.

    Args:
        vocabulary: list of str, or path of a file with one token a line.
        lowercase: bool.
        strip_accents: bool, or `None` to follow `lowercase`.
        special_tokens_in_strings: bool.
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
        self.vocabulary = vocabulary
        self.lowercase = bool(lowercase)
        self.strip_accents = strip_accents
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
                self.lowercase if strip is None else bool(strip),
                SPECIAL_TOKENS if self.special_tokens_in_strings else None,
            )
        return self._graph

    def _run(self, method, rows):
        """`WordPieceGraph.method` on a 1-D tensor, compiled when eager."""
        tf = tensorflow()
        function = getattr(self._wordpiece(), method)
        if not tf.executing_eagerly():
            return tf.autograph.experimental.do_not_convert(function)(rows)
        if method not in self._eager:
            self._eager[method] = tf.function(
                function,
                input_signature=[tf.TensorSpec([None], tf.string)],
                autograph=False,
            )
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

    def vocabulary_size(self):
        return len(self.vocabulary)

    def id_to_token(self, id):
        if not 0 <= id < len(self.vocabulary):
            raise invalid("id", f"0 to {len(self.vocabulary) - 1}", id)
        return self.vocabulary[id]

    def token_to_id(self, token):
        if token not in self._ids:
            raise invalid("token", "a token of the vocabulary", token)
        return self._ids[token]

    @classmethod
    def from_preset(cls, preset, **kwargs):
        """The tokenizer of a folder with a vocabulary and its settings."""
        preset = os.fspath(preset)
        config = {}
        path = os.path.join(preset, "tokenizer_config.json")
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                config = json.load(file)
        settings = {
            "lowercase": config.get("do_lower_case"),
            "strip_accents": config.get("strip_accents"),
            "special_tokens_in_strings": config.get(
                "special_tokens_in_strings", False
            ),
        }
        settings.update(kwargs)
        if settings["lowercase"] is None:
            raise invalid(
                "lowercase",
                f"True or False, because {preset} has no "
                "tokenizer_config.json with do_lower_case",
                None,
            )
        for name in ("vocab.txt", "tokenizer.json"):
            path = os.path.join(preset, name)
            if os.path.isfile(path):
                return cls(path, **settings)
        raise invalid("preset", "a folder with vocab.txt", preset)

    def save_to_preset(self, preset):
        """Writes vocab.txt and tokenizer_config.json into a folder."""
        preset = os.fspath(preset)
        write_vocabulary(self.vocabulary, os.path.join(preset, "vocab.txt"))
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


def as_strings(text):
    """A string tensor or ragged tensor of what a caller passes as text."""
    tf = tensorflow()
    if isinstance(text, tf.RaggedTensor) or tf.is_tensor(text):
        if text.dtype != tf.string:
            raise invalid("text", "strings", text)
        return text
    if hasattr(text, "tolist"):
        text = text.tolist()
    try:
        return _convert(text)
    except UnicodeEncodeError:
        return _convert(_without_surrogates(text))
    except (TypeError, ValueError):
        raise invalid("text", "str, or lists of str", text) from None


def _convert(text):
    tf = tensorflow()
    if isinstance(text, (list, tuple)):
        if any(isinstance(row, (list, tuple)) for row in text):
            return tf.ragged.constant(text, tf.string)
        if not text:
            return tf.zeros([0], tf.string)
    return tf.constant(text, tf.string)


def _without_surrogates(text):
    # A lone surrogate is for the original a letter of no vocabulary.
    if isinstance(text, str):
        return "".join(
            "\ue000" if "\ud800" <= c <= "\udfff" else c for c in text
        )
    if isinstance(text, (list, tuple)):
        return [_without_surrogates(part) for part in text]
    return text
