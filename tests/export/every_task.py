"""Builds, exports and asks one tiny model of every task.

    python every_task.py VOCABULARY FOLDER

writes FOLDER/<name>/ (SavedModels), FOLDER/<name>.keras, FOLDER/<name>.preset/
and FOLDER/requests.json: per model a list of [signature, inputs, expected
outputs]. It is a process of its own, so that the package that it imports can
be renamed afterwards.

    python every_task.py FOLDER

loads the `.keras` files and the presets, under whatever backend, and writes
what they give for ids and for strings to FOLDER/reloaded.json.
"""

import json
import sys
import warnings
from pathlib import Path

import keras
import numpy as np

import keras_bert as kb
from keras_bert.export import by_tensorflow

WORDS = "a the fox dog cat bird ran saw ate and not very old ##s ##ly ."
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS.split()]
TEXTS = ["the fox ran .", "cat", "The óld dogs\x00 ate 猫 and xyz " * 2]
# More words than a row of 12 has room for, and none at all; the first word
# of the third text holds nothing that the tokenizer keeps.
TEXTS_OF_WORDS = [
    ["the", "old", "foxs", *["ran", "and", "the", "cat", "saw"] * 2, "dogly"],
    [],
    ["\x00", "cat"],
]
QUESTIONS = ["a fox", "the cat saw", "dog"]
CONTEXTS = ["the old fox ran. " * 9, "", "Élan: the  dog ate, 猫 and a bird."]
ENDINGS = [["ran", "saw a bird"], ["", "not"], ["a", "the very old dog"]]
MASKED = ["the [MASK] ran", "[MASK] and [SEP] [MASK]", "[MASK]s"]
# Built under TensorFlow only, and not reloaded.
FORMS = ("regression", "reluctant", "vectors", "pretrainer")


def build(vocabulary):
    """Models of all tasks on one backbone; under TensorFlow further forms."""
    keras.utils.set_random_seed(1)
    tokenizer = kb.BertTokenizer(str(vocabulary), lowercase=True)
    backbone = kb.BertBackbone(
        vocabulary_size=len(VOCABULARY) + 3,
        num_layers=1,
        num_heads=2,
        hidden_dim=16,
        intermediate_dim=32,
        max_sequence_length=32,
        # Wide enough for the rows to differ in their outputs.
        initializer_range=0.3,
    )
    answers = {
        "sequence_length": 16,
        "doc_stride": 5,
        # Longer than the row: the graph must refuse what leaves no room.
        "max_query_length": 64,
        "max_answer_length": 4,
    }
    models = {
        "classifier": kb.BertTextClassifier(
            backbone, preprocessor=tokenizer, labels=["nein", "größer"]
        ),
        "tagger": kb.BertTokenClassifier(
            backbone,
            preprocessor=kb.BertTokenClassifierPreprocessor(
                tokenizer, sequence_length=12, stride=3
            ),
            labels=["B-X", "I-X", "O"],
        ),
        "answerer": kb.BertQuestionAnswerer(
            backbone,
            preprocessor=kb.BertQuestionAnswererPreprocessor(
                tokenizer, null_threshold=None, **answers
            ),
        ),
        "choice": kb.BertMultipleChoice(
            backbone,
            preprocessor=kb.BertMultipleChoicePreprocessor(
                tokenizer, sequence_length=16
            ),
        ),
        "masked": kb.BertMaskedLM(backbone, preprocessor=tokenizer),
        "embedder": kb.BertTextEmbedder(backbone, preprocessor=tokenizer),
    }
    if keras.config.backend() != "tensorflow":
        return models
    return {
        **models,
        "regression": kb.BertTextClassifier(
            backbone, preprocessor=tokenizer, num_classes=1
        ),
        "reluctant": kb.BertQuestionAnswerer(
            backbone,
            preprocessor=kb.BertQuestionAnswererPreprocessor(
                tokenizer, null_threshold=-9.0, **answers
            ),
        ),
        "vectors": kb.BertTextEmbedder(
            backbone, preprocessor=tokenizer, pooling_mode=None
        ),
        "pretrainer": kb.BertPretrainer(backbone, preprocessor=tokenizer),
    }


def softmax(logits):
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def classified(logits, labels):
    return {
        "logits": logits,
        "probabilities": softmax(logits),
        "label": [labels[i] for i in logits.argmax(-1)],
    }


def text_requests(model):
    for texts, pairs in (
        (TEXTS, [""]),
        (TEXTS[:1], ["a dog"]),
        (TEXTS, ["a dog", "", "ran ."]),
    ):
        x = (texts, pairs * len(texts) if len(pairs) == 1 else pairs)
        logits = model.predict(x, verbose=0)
        expected = {"logits": logits}
        if model.labels:
            expected = classified(logits, model.labels)
        yield {"text": texts, "text_pair": pairs}, expected


def word_requests(model):
    for texts in (TEXTS_OF_WORDS, TEXTS_OF_WORDS[:1], [[]]):
        logits = np.concatenate(model.predict(texts, verbose=0))
        expected = classified(logits, model.labels)
        expected["label"] = [one for tags in model.tag(texts) for one in tags]
        words = [word for text in texts for word in text]
        lengths = [len(text) for text in texts]
        yield {"words": words, "row_lengths": lengths}, expected


def answer_requests(model):
    for rows in (slice(None), slice(1)):
        questions, contexts = QUESTIONS[rows], CONTEXTS[rows]
        answers = model.predict((questions, contexts), verbose=0)
        yield (
            {"question": questions, "context": contexts},
            {
                key: [answer[key] for answer in answers]
                for key in ("text", "start", "end", "score")
            },
        )


def choice_requests(model):
    for contexts, endings in (
        (TEXTS, ENDINGS),
        (TEXTS[:1], [["a", "the", "ran"]]),
    ):
        logits = model.predict((contexts, endings), verbose=0)
        labels = [str(i) for i in range(3)]
        yield (
            {"context": contexts, "endings": endings},
            classified(logits, labels),
        )


def mask_requests(model):
    masked = model
    if isinstance(model, kb.BertPretrainer):
        # The same heads, of which fill_mask is the one in words.
        masked = kb.BertMaskedLM(model.backbone, preprocessor=model.tokenizer)
        masked.mlm_head.set_weights(model.mlm_head.get_weights())
    for texts in (MASKED, MASKED[:1]):
        found = masked.fill_mask(texts)
        masks = max(map(len, found))
        empty = {"token": "", "score": 0.0}
        yield (
            {"text": texts},
            {
                key: [
                    [
                        [one[key] for one in mask]
                        for mask in row + [[empty] * 5] * (masks - len(row))
                    ]
                    for row in found
                ]
                for key in ("token", "score")
            },
        )


def embedding_requests(model):
    for texts in (TEXTS, TEXTS[:1]):
        vectors = model.predict(texts, verbose=0)
        if model.pooling_mode:
            yield {"text": texts}, {"embedding": vectors}
            continue
        lengths = [len(one) for one in vectors]
        # Padded to the bucket of the longest text.
        width = 16 if max(lengths) <= 16 else 32
        padded = np.zeros((len(texts), width, vectors[0].shape[1]))
        for row, one in zip(padded, vectors, strict=True):
            row[: len(one)] = one
        yield {"text": texts}, {"embedding": padded, "length": lengths}


def id_requests(model):
    """Rows of several sizes, padded ones and packed ones among them."""
    backbone = model if isinstance(model, kb.BertBackbone) else model.backbone
    generator = np.random.default_rng(1)
    for batch, length in ((1, 1), (3, 7), (2, backbone.max_sequence_length)):
        shape = (batch, length)
        if isinstance(model, kb.BertMultipleChoice):
            shape = (batch, 3, length)
        x = {
            "token_ids": generator.integers(0, backbone.vocabulary_size, shape),
            "segment_ids": generator.integers(0, 2, shape),
            "padding_mask": np.ones(shape),
        }
        x["padding_mask"][..., length // 2 :] = 2
        x["padding_mask"][..., length - length // 4 :] = 0
        if "mask_positions" in model.input:
            x["mask_positions"] = generator.integers(0, length, (batch, 2))
        x = {key: value.astype("int32") for key, value in x.items()}
        outputs = model.predict(x, verbose=0)
        if not isinstance(outputs, dict):
            outputs = {model._output_name: outputs}
        yield x, outputs


REQUESTS = {
    kb.BertTextClassifier: text_requests,
    kb.BertTokenClassifier: word_requests,
    kb.BertQuestionAnswerer: answer_requests,
    kb.BertMultipleChoice: choice_requests,
    kb.BertMaskedLM: mask_requests,
    kb.BertPretrainer: mask_requests,
    kb.BertTextEmbedder: embedding_requests,
}


def main(vocabulary, folder):
    models = build(vocabulary)
    requests = {}
    for name, model in models.items():
        strings = REQUESTS[type(model)](model)
        requests[name] = [("serving_default", *one) for one in strings]
        requests[name] += [("ids", *one) for one in id_requests(model)]
    for name, model in models.items():
        model.save(folder / f"{name}.keras")
        model.save_to_preset(folder / f"{name}.preset")
    if keras.config.backend() == "tensorflow":
        for name, model in models.items():
            model.export(folder / name)
    else:
        # As `export` does it, but all in one child process.
        jobs = []
        for name, model in models.items():
            shapes = {key: list(one.shape) for key, one in model.input.items()}
            jobs.append(
                (
                    folder / f"{name}.keras",
                    folder / name,
                    "tf_saved_model",
                    shapes,
                    {},
                )
            )
        by_tensorflow.run_child(jobs)
    write(folder / "requests.json", requests)
    print(kb.__file__)


def reload(folder):
    reloaded = {}
    for name, requests in json.loads(
        (folder / "requests.json").read_text()
    ).items():
        if name in FORMS:
            continue
        model = keras.saving.load_model(folder / f"{name}.keras")
        x = next(x for signature, x, _ in requests if signature == "ids")
        outputs = model.predict_on_batch(
            {key: np.array(value, "int32") for key, value in x.items()}
        )
        if not isinstance(outputs, dict):
            outputs = {model._output_name: outputs}
        reloaded[name] = [("ids", x, outputs)]
        # The preset: the same class, settings and weights, so that one
        # request of strings stands for all.
        preset = kb.load(folder / f"{name}.preset")
        assert type(preset) is type(model)
        for one, other in zip(preset.weights, model.weights, strict=True):
            assert one.path.split("/")[1:] == other.path.split("/")[1:]
            np.testing.assert_array_equal(
                *(keras.ops.convert_to_numpy(w) for w in (one, other))
            )
        assert without_names(preset.get_config()) == without_names(
            model.get_config()
        )
        if name == "classifier":
            strings = next(iter(text_requests(preset)))
            reloaded[name].append(("serving_default", *strings))
    write(folder / "reloaded.json", reloaded)
    print(keras.config.backend())


def without_names(config):
    """A config without the names that Keras numbers."""
    if isinstance(config, dict):
        return {
            key: without_names(value)
            for key, value in config.items()
            if key not in ("name", "shared_object_id", "build_config")
        }
    if isinstance(config, list | tuple):
        return [without_names(one) for one in config]
    return config


def write(path, requests):
    text = json.dumps(requests, default=lambda value: value.tolist())
    path.write_text(text)


if __name__ == "__main__":
    # A word without a piece is there on purpose.
    warnings.simplefilter("ignore")
    arguments = list(map(Path, sys.argv[1:]))
    reload(*arguments) if len(arguments) == 1 else main(*arguments)
