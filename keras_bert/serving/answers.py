"""What each task model makes of requests, as values that JSON can hold.

One request is a dict with the fields that `describe` lists. A table, a row
per class of models: its fields, and a function (model, requests) -> answers.
"""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from keras_bert._errors import invalid
from keras_bert.models import BertMaskedLM
from keras_bert.models import BertMultipleChoice
from keras_bert.models import BertPretrainer
from keras_bert.models import BertQuestionAnswerer
from keras_bert.models import BertTextClassifier
from keras_bert.models import BertTextEmbedder
from keras_bert.models import BertTokenClassifier
from keras_bert.models import load


def _classify(model, requests):
    texts = [request["text"] for request in requests]
    pairs = [request.get("text_pair") or "" for request in requests]
    if model.num_classes == 1:
        found = model.classify((texts, pairs))
        return [{"score": one["score"]} for one in found]
    found = model.classify((texts, pairs), top_k=model.num_classes)
    return [{**scores[0], "scores": scores} for scores in found]


def _tag(model, requests):
    texts = [request["words"] for request in requests]
    texts = [text.split() if isinstance(text, str) else text for text in texts]
    labels = model.tag(texts)
    return [
        {"words": words, "labels": found}
        for words, found in zip(texts, labels, strict=True)
    ]


def _answer(model, requests):
    questions, contexts = (
        [request[field] for request in requests]
        for field in ("question", "context")
    )
    return model.predict((questions, contexts), verbose=0)


def _choose(model, requests):
    # A batch holds the same number of endings for each context.
    groups = defaultdict(list)
    for index, request in enumerate(requests):
        groups[len(request["endings"])].append(index)
    answers = [None] * len(requests)
    for indices in groups.values():
        contexts, endings = (
            [requests[index][field] for index in indices]
            for field in ("context", "endings")
        )
        logits = model.predict((contexts, endings), verbose=0)
        for index, row in zip(indices, logits, strict=True):
            powers = np.exp(row - row.max())
            scores = (powers / powers.sum()).tolist()
            answers[index] = {"choice": int(row.argmax()), "scores": scores}
    return answers


def _fill(model, requests):
    texts = [request["text"] for request in requests]
    return [{"masks": masks} for masks in model.fill_mask(texts)]


def _embed(model, requests):
    vectors = model.predict([one["text"] for one in requests], verbose=0)
    return [{"embedding": vector.tolist()} for vector in vectors]


@dataclass(frozen=True)
class Served:
    """`kind`: what the page shows. `fields`: name -> type, "?" optional."""

    kind: str
    fields: dict
    run: callable


SERVED = {
    BertTextClassifier: Served(
        "classifier", {"text": "text", "text_pair": "text?"}, _classify
    ),
    BertTokenClassifier: Served("tagger", {"words": "words"}, _tag),
    BertQuestionAnswerer: Served(
        "answerer", {"question": "text", "context": "text"}, _answer
    ),
    BertMultipleChoice: Served(
        "choice", {"context": "text", "endings": "texts"}, _choose
    ),
    BertMaskedLM: Served("masked", {"text": "text"}, _fill),
    BertTextEmbedder: Served("embedder", {"text": "text"}, _embed),
}


def _served(model):
    for cls in type(model).__mro__:
        if cls in SERVED:
            return SERVED[cls]
    raise invalid(
        "source",
        "a model with a task's head (a bare backbone has no answers)",
        type(model).__name__,
    )


def load_served(source):
    """The model of a source, as one that answers requests."""
    model = load(source)
    if isinstance(model, BertPretrainer):
        # Its answers in words are those of the masked language model.
        model = BertMaskedLM.from_preset(source)
    _served(model)
    if model.preprocessor is None:
        raise invalid("source", "a model with a tokenizer", str(source))
    return model


def describe(model):
    """What the server has to know of the model, which it does not load."""
    served, tokenizer = _served(model), model.tokenizer
    # Read in windows, or, with masks, refused where they are too long.
    never_cut = served.kind in ("tagger", "answerer", "masked")
    return {
        "model": type(model).__name__,
        "kind": served.kind,
        "fields": served.fields,
        "vocabulary": tokenizer.vocabulary,
        "lowercase": tokenizer.lowercase,
        "strip_accents": tokenizer.strip_accents,
        "longest": None if never_cut else model.preprocessor.sequence_length,
        "mask": tokenizer.id_to_token(tokenizer.mask_token_id),
    }


def answer(model, requests):
    """An ("ok", answer) or ("error", message) for each request."""
    run = _served(model).run
    try:
        return [("ok", one) for one in run(model, requests)]
    except ValueError as error:
        if len(requests) == 1:
            return [("error", str(error))]
    # One of them is bad: the others must not suffer for it.
    return [answer(model, [request])[0] for request in requests]
