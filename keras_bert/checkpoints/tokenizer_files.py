"""Vocabulary and tokenizer settings beside a checkpoint."""

import re
from pathlib import Path

from keras_bert.checkpoints.files import read_json
from keras_bert.checkpoints.files import write_json
from keras_bert.checkpoints.files import write_vocabulary

SPECIAL_TOKENS = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
_BERT_CLASSES = (
    None,
    "BertTokenizer",
    "BertTokenizerFast",
    "PreTrainedTokenizerFast",
    "TokenizersBackend",
)
# Google's folder names say whether the model lower-cases: the list of the
# original's tokenization.validate_case_matches_checkpoint.
_UNCASED_FOLDER = re.compile(
    r"(^|/)((wwm_)?uncased_|multilingual_L-12|chinese_L-12)"
)
_CASED_FOLDER = re.compile(r"(^|/)((wwm_)?cased_|multi_cased)")


class TokenizerFiles:
    """A vocabulary and its settings in Hugging Face's words.

    Args:
        vocabulary: list of tokens.
        config: dict (`do_lower_case`, `strip_accents`, ...).
        problem: a sentence when the files describe a tokenizer that is not
            BERT's: raised when the vocabulary is asked for, since the
            backbone alone can still be loaded.
        notes: sentences on what is read, but not computed alike here.
    """

    def __init__(self, vocabulary, config, problem=None, notes=()):
        self._vocabulary = list(vocabulary)
        self.config = dict(config)
        self.problem = problem
        self.notes = list(notes)

    @property
    def vocabulary(self):
        if self.problem:
            raise ValueError(self.problem)
        return self._vocabulary

    def __bool__(self):
        return True

    def __len__(self):
        return len(self._vocabulary)

    @property
    def arguments(self):
        """Keyword arguments of `BertTokenizer`."""
        return {
            "vocabulary": self.vocabulary,
            "lowercase": bool(self.config.get("do_lower_case", True)),
            "strip_accents": self.config.get("strip_accents"),
            "special_tokens_in_strings": bool(
                self.config.get("special_tokens_in_strings", False)
            ),
        }


def read_vocabulary(path):
    """Tokens of a vocabulary file; the line number is the id.

    Only "\\n" ends a line (U+2028 occurs inside tokens).
    """
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: {error}") from error
    lines = text.split("\n")
    if lines and not lines[-1].strip("\r"):
        lines.pop()
    return [line.rstrip("\r") for line in lines]


def read_google(folder):
    """vocab.txt of a Google folder, or None.

    The original takes `do_lower_case` from the command line and checks it
    against the folder's name. Where no `tokenizer_config.json` lies beside,
    the name decides, then the vocabulary (cased ones hold capital letters).
    """
    path = Path(folder) / "vocab.txt"
    if not path.is_file():
        return None
    vocabulary = read_vocabulary(path)
    settings = Path(folder) / "tokenizer_config.json"
    config = read_json(settings) if settings.is_file() else {}
    if "do_lower_case" not in config:
        config["do_lower_case"] = _guess_lowercase(folder, vocabulary)
    _check_settings(config, settings)
    return TokenizerFiles(vocabulary, config)


def _guess_lowercase(folder, vocabulary):
    name = str(folder).replace("\\", "/").rstrip("/")
    name = "/".join(name.split("/")[-2:])
    if _UNCASED_FOLDER.search(name):
        return True
    if _CASED_FOLDER.search(name):
        return False
    return not any(
        re.search("[A-Z]", token) and not re.fullmatch(r"[\[<].*[\]>]", token)
        for token in vocabulary
    )


def read_huggingface(folder):
    """vocab.txt or tokenizer.json of a Hugging Face folder, or None."""
    folder = Path(folder)
    settings = folder / "tokenizer_config.json"
    config = read_json(settings) if settings.is_file() else {}
    fast = folder / "tokenizer.json"
    fast = read_json(fast) if fast.is_file() else None
    if (folder / "vocab.txt").is_file():
        vocabulary = read_vocabulary(folder / "vocab.txt")
    elif fast is not None:
        model = fast.get("model")
        model = model if isinstance(model, dict) else {}
        if model.get("type") != "WordPiece":
            return TokenizerFiles(
                [],
                config,
                f"{folder / 'tokenizer.json'} holds a tokenizer of type "
                f"{model.get('type')!r}, expected 'WordPiece'",
            )
        vocabulary = _numbered(model.get("vocab"), folder / "tokenizer.json")
    else:
        return None
    _take_normalizer(config, fast)
    _check_settings(config, settings)
    problem = _problem(config, folder)
    trained = len(vocabulary)
    vocabulary, added_problem = _with_added_tokens(
        vocabulary, config, fast, folder
    )
    return TokenizerFiles(
        vocabulary,
        config,
        problem or added_problem,
        _split_tokens(vocabulary[trained:], config),
    )


def _numbered(ids, path):
    """{token: id} as a list."""
    try:
        tokens = {number: token for token, number in ids.items()}
        return [tokens[number] for number in range(len(ids))]
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path}: `vocab` should number its tokens from 0 without holes"
        ) from error


def _take_normalizer(config, fast):
    """Settings that only tokenizer.json states; all are checked."""
    normalizer = (fast or {}).get("normalizer") or {}
    if normalizer.get("type") == "BertNormalizer":
        for ours, theirs in (
            ("do_lower_case", "lowercase"),
            ("strip_accents", "strip_accents"),
            ("tokenize_chinese_chars", "handle_chinese_chars"),
        ):
            if theirs in normalizer:
                config.setdefault(ours, normalizer[theirs])
    # Hugging Face's BertTokenizer lower-cases when nothing is said.
    config.setdefault("do_lower_case", True)


def _check_settings(config, path):
    for key, allowed in (
        ("do_lower_case", (True, False)),
        ("strip_accents", (True, False, None)),
        ("tokenize_chinese_chars", (True, False)),
    ):
        value = config.get(key, allowed[0])
        if not any(value is one for one in allowed):
            raise ValueError(
                f"{path} gives {key} as {value!r}, expected one of {allowed}"
            )


def _problem(config, folder):
    where = Path(folder) / "tokenizer_config.json"
    name = config.get("tokenizer_class")
    if name not in _BERT_CLASSES:
        return (
            f"{where} names the tokenizer class {name!r}, expected BERT's "
            "WordPiece (BertTokenizer). Load with preprocessor=None and "
            "tokenize outside"
        )
    if config.get("tokenize_chinese_chars") is False:
        return (
            f"{where} has tokenize_chinese_chars=false: this tokenizer "
            "always sets CJK characters apart, as the original does. Load "
            "with preprocessor=None and tokenize outside"
        )
    for key, token in SPECIAL_TOKENS.items():
        value = config.get(key)
        value = value.get("content") if isinstance(value, dict) else value
        if value not in (None, token):
            return (
                f"{where} has {key}={value!r}, expected {token!r}. Load with "
                "preprocessor=None and tokenize outside"
            )
    return None


def _with_added_tokens(vocabulary, config, fast, folder):
    """Appends tokens that were added after training, by their ids."""
    added = {}
    path = Path(folder) / "added_tokens.json"
    if path.is_file():
        added.update(read_json(path))
    try:
        for token in (fast or {}).get("added_tokens") or []:
            added[token["content"]] = token["id"]
        decoder = config.get("added_tokens_decoder") or {}
        for number, token in decoder.items():
            added[token["content"]] = int(number)
        added = sorted(added.items(), key=lambda pair: pair[1])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{folder}: the added tokens in its tokenizer files are not a "
            "list of token and id"
        ) from error
    for token, number in added:
        if number < len(vocabulary):
            if vocabulary[number] != token:
                return vocabulary, (
                    f"{folder}: the added token {token!r} has id {number}, "
                    f"which the vocabulary gives to {vocabulary[number]!r}"
                )
        elif number == len(vocabulary):
            vocabulary = [*vocabulary, token]
        else:
            return vocabulary, (
                f"{folder}: the added token {token!r} has id {number}, but "
                f"no token has id {len(vocabulary)}"
            )
    return vocabulary, None


def _split_tokens(added, config):
    """A note on added tokens that no text can yield here.

    transformers looks for them before it splits a text; here, as in the
    original, they are pieces of the vocabulary like any other.
    """
    lowercase = config.get("do_lower_case", True)
    split = [
        token
        for token in added
        if not re.fullmatch(r"[^\W_]+", token)
        or (lowercase and token != token.lower())
    ]
    if not split:
        return []
    return [
        f"the added tokens {', '.join(split[:5])} keep their ids, but a text "
        "that holds them is split into pieces as any text is; transformers "
        "looks for them first"
    ]


def write_tokenizer(folder, tokenizer, max_length):
    """vocab.txt and tokenizer_config.json as `BertTokenizer` of HF reads.

    Settings that the source carried (model_max_length and others) are kept.
    """
    if tokenizer is None:
        return
    config = {
        "tokenizer_class": "BertTokenizer",
        "model_max_length": max_length,
        "tokenize_chinese_chars": True,
        "strip_accents": None,
        **SPECIAL_TOKENS,
        **tokenizer.config,
    }
    # What names other files, or code, of the folder it came from.
    for key in (
        "vocab_file",
        "tokenizer_file",
        "special_tokens_map_file",
        "name_or_path",
        "auto_map",
    ):
        config.pop(key, None)
    write_vocabulary(Path(folder) / "vocab.txt", tokenizer.vocabulary)
    write_json(Path(folder) / "tokenizer_config.json", config)


def of_tokenizer(tokenizer):
    """TokenizerFiles of a `BertTokenizer` object, or None."""
    if tokenizer is None:
        return None
    config = {
        "do_lower_case": bool(tokenizer.lowercase),
        "strip_accents": tokenizer.strip_accents,
    }
    if tokenizer.special_tokens_in_strings:
        config["special_tokens_in_strings"] = True
    return TokenizerFiles(tokenizer.vocabulary, config)
