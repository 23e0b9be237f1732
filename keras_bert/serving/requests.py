"""The requests of clients, checked before they may wait.

One request is an object with the fields of the model's task, several are
`{"inputs": [...]}`. Whatever is wrong is told with the name of the field.
"""

import json

# Requests in one body.
MOST = 64


class BadRequest(Exception):
    """What a client got wrong, and the HTTP status that says so."""

    def __init__(self, message, status=400):
        super().__init__(message)
        self.status = status


def parse(body, description):
    """The requests of a body, and whether they came as a list.

    Args:
        body: bytes.
        description: as `answers.describe` gives it.

    Raises:
        BadRequest: it is no UTF-8, no JSON, or not what the model reads.
    """
    try:
        content = json.loads(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BadRequest(f"the body is no UTF-8 (byte {error.start})") from None
    except (ValueError, RecursionError) as error:
        # A plain ValueError: an integer of more digits than Python reads.
        raise BadRequest(f"the body is no JSON: {error}") from None
    several = isinstance(content, dict) and "inputs" in content
    if not several:
        return [_checked(content, description, "the body")], False
    inputs = content["inputs"]
    if len(content) > 1 or not isinstance(inputs, list) or not inputs:
        raise BadRequest("`inputs` must be a list of objects, alone")
    if len(inputs) > MOST:
        raise BadRequest(
            f"`inputs` may hold {MOST} objects at most, not {len(inputs)}", 413
        )
    return [
        _checked(one, description, f"`inputs[{index}]`")
        for index, one in enumerate(inputs)
    ], True


def _checked(request, description, where):
    fields = description["fields"]
    names = ", ".join(
        f"`{name}`" + (" (optional)" if kind.endswith("?") else "")
        for name, kind in fields.items()
    )
    if not isinstance(request, dict):
        raise BadRequest(f"{where} must be an object with {names}")
    unknown = sorted(set(request) - set(fields))
    if unknown:
        raise BadRequest(f"{where} holds `{unknown[0]}`; known are {names}")
    for name, kind in fields.items():
        if name not in request or request[name] is None:
            if not kind.endswith("?"):
                raise BadRequest(f"{where} lacks `{name}`; needed are {names}")
            continue
        _check_value(request[name], name, kind.rstrip("?"))
    if description["kind"] == "masked":
        mask = description["mask"]
        if mask not in request["text"]:
            raise BadRequest(f"`text` must hold {mask} at least once")
    return request


def _check_value(value, name, kind):
    texts = value if isinstance(value, list) else [value]
    if kind == "text" and not isinstance(value, str):
        raise BadRequest(f"`{name}` must be a string")
    if kind == "texts" and not isinstance(value, list):
        raise BadRequest(f"`{name}` must be a list of strings")
    if not texts or not all(isinstance(text, str) for text in texts):
        what = "a string or a list" if kind == "words" else "a list"
        raise BadRequest(f"`{name}` must be {what} of strings, one at least")
    for text in texts:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise BadRequest(
                f"`{name}` holds half of a character (a lone surrogate) at "
                f"{error.start}"
            ) from None


class TokenCounter:
    """Counts the tokens of a request, to fill batches and to tell what is cut.

    Hugging Face's tokenizer counts without TensorFlow; where it differs from
    ours, in rare characters, it is a token or two out.
    """

    def __init__(self, description):
        from tokenizers import Tokenizer
        from tokenizers import models
        from tokenizers import normalizers
        from tokenizers import pre_tokenizers

        vocabulary = description["vocabulary"]
        self._tokenizer = Tokenizer(
            models.WordPiece(
                vocab={token: i for i, token in enumerate(vocabulary)},
                unk_token="[UNK]",
                max_input_chars_per_word=200,
            )
        )
        self._tokenizer.normalizer = normalizers.BertNormalizer(
            lowercase=description["lowercase"],
            strip_accents=description["strip_accents"],
        )
        self._tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        self._longest = description["longest"]

    def __call__(self, request):
        """`(tokens, cut)`: what a request fills, and whether some is lost."""
        sizes = {
            name: [
                len(encoding.ids)
                for encoding in self._tokenizer.encode_batch(
                    value if isinstance(value, list) else [value],
                    add_special_tokens=False,
                )
            ]
            for name, value in request.items()
            if value
        }
        # [CLS], and a [SEP] after each segment.
        length = 1 + max(1, len(sizes))
        endings = sizes.pop("endings", [0])
        length += max(endings) + sum(map(sum, sizes.values()))
        cut = self._longest is not None and length > self._longest
        return (self._longest if cut else length) * len(endings), cut
