"""`keras-bert demo`: the whole path on text that every Python carries.

The documentation inside Python and numpy becomes a corpus; then the verbs
`vocab`, `pretrain`, `finetune text`, `predict` and `export` run on it as they
run on anybody's files. Every figure printed is measured in this run.
"""

import json
import os
import subprocess
import sys
import time

from keras_bert.cli import _common

HELP = "vocabulary, pretraining, fine-tuning, export: on embedded text"
EXAMPLE = "keras-bert demo -o demo_output"

# The client knows nothing of keras_bert: tensorflow and the text ops only.
_CLIENT = """
import json, sys
import tensorflow as tf
import tensorflow_text
model = tf.saved_model.load(sys.argv[1])
texts = json.load(open(sys.argv[2]))
pairs = [""] * len(texts)
out = model.signatures["serving_default"](
    text=tf.constant(texts), text_pair=tf.constant(pairs)
)
modules = sorted(name for name in sys.modules if name.startswith("keras_bert"))
print(json.dumps({
    "label": [label.decode() for label in out["label"].numpy()],
    "probability": out["probabilities"].numpy().max(-1).tolist(),
    "keras_bert_modules": modules,
}))
"""


def add_arguments(parser):
    parser.add_argument("-o", "--output", required=True, help="folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--minutes", type=float, help="time for pretraining (2.1)"
    )


def run(args):
    started = time.monotonic()
    tiny = bool(os.environ.get("KERAS_BERT_TINY"))
    minutes = args.minutes or (0.05 if tiny else 2.1)
    _common.check_seed(args.seed)
    folder = _common.check_new(args.output)
    # No staging here: every verb puts its own result in place when it is
    # whole, and a demo that breaks off leaves them to look at.
    folder.mkdir(parents=True, exist_ok=True)
    demo = _Demo(folder, args.seed, tiny, started)
    demo.corpus()
    demo.vocabulary()
    demo.pretrain(minutes)
    demo.fill_masks()
    demo.classify()
    demo.serve()
    demo.summary()
    _common.write_json(folder / "summary.json", demo.result)
    return demo.result


class _Demo:
    def __init__(self, folder, seed, tiny, started):
        self.folder = folder
        self.seed = seed
        self.tiny = tiny
        self.started = started
        self.result = {}

    def _title(self, text):
        seconds = time.monotonic() - self.started
        minutes, seconds = divmod(int(seconds), 60)
        print(f"\n=== {minutes}:{seconds:02d}  {text}", flush=True)

    def _verb(self, *words):
        """One verb of the command line, as a user would call it."""
        from keras_bert.cli.main import build_parser

        words = [str(word) for word in words]
        print("$ keras-bert " + " ".join(words), flush=True)
        args = build_parser().parse_args(words)
        return args.run(args)

    def corpus(self):
        import numpy as np

        from keras_bert.data import labelled_docstrings
        from keras_bert.data import python_documentation

        self._title("Text: the documentation inside Python and numpy")
        documents = python_documentation()
        if self.tiny:
            documents = documents[::20]
        order = np.random.default_rng(self.seed).permutation(len(documents))
        border = len(documents) // 10
        self.held_out = [documents[i] for i in sorted(order[:border])]
        training = [documents[i] for i in sorted(order[border:])]
        for name, part in (
            ("corpus.txt", training),
            ("held_out.txt", self.held_out),
        ):
            text = "\n\n".join("\n".join(document) for document in part)
            (self.folder / name).write_text(text + "\n", encoding="utf-8")
        texts = self.folder / "docstrings"
        texts.mkdir()
        for name, part in zip(
            ("train", "dev"), labelled_docstrings(self.seed), strict=True
        ):
            rows = zip(part["texts"], part["labels"], strict=True)
            rows = list(rows)[:: 8 if self.tiny else 1]
            lines = (json.dumps({"text": t, "label": y}) for t, y in rows)
            (texts / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
        sentences = sum(map(len, documents))
        size = (self.folder / "corpus.txt").stat().st_size
        print(
            f"{len(documents):,} documents of {sentences:,} sentences; "
            f"{len(self.held_out):,} documents held out; "
            f"{size / 1e6:.1f} MB to learn from"
        )

    def vocabulary(self):
        self._title("Vocabulary: WordPiece trained on that text")
        self._verb(
            "vocab", self.folder / "corpus.txt",
            "-o", self.folder / "vocab.txt",
            "--size", 1000 if self.tiny else 4000,
        )  # fmt: skip

    def pretrain(self, minutes):
        self._title("Pretraining: bert_tiny, masked words and next sentences")
        result = self._verb(
            "pretrain", self.folder / "corpus.txt",
            "-o", self.folder / "pretrained",
            "--vocab", self.folder / "vocab.txt",
            "--config", "bert_tiny",
            "--minutes", minutes,
            "--learning-rate", 1e-3,
            "--seed", self.seed,
            "--held-out", self.folder / "held_out.txt",
        )  # fmt: skip
        self.result["pretraining"] = result

    def fill_masks(self):
        import keras
        import numpy as np

        from keras_bert.models import BertBackbone
        from keras_bert.models import BertMaskedLM

        self._title("Masks in three held-out sentences, drawn by the seed")
        after = BertMaskedLM.from_preset(self.folder / "pretrained")
        tokenizer = after.tokenizer
        keras.utils.set_random_seed(self.seed)
        before = BertMaskedLM(
            BertBackbone.from_config(after.backbone.get_config()), tokenizer
        )
        rng = np.random.default_rng(self.seed)
        sentences = [one for document in self.held_out for one in document]
        size = tokenizer.vocabulary_size()
        found = []
        while len(found) < 3:
            words = sentences[rng.integers(len(sentences))].split(" ")
            place = rng.integers(len(words))
            ids = np.asarray(tokenizer(words[place]))
            # One token stands for the whole word, so its rank can be told.
            if not 8 <= len(words) <= 40 or len(ids) != 1:
                continue
            truth = tokenizer.id_to_token(int(ids[0]))
            words[place] = "[MASK]"
            text = " ".join(words)
            ranks = {}
            for name, model in (("before", before), ("after", after)):
                best = model.fill_mask(text, top_k=size)[0]
                rank = [one["token"] for one in best].index(truth)
                ranks[name] = {
                    "rank": rank + 1,
                    "probability": best[rank]["score"],
                    "top": [one["token"] for one in best[:5]],
                }
            found.append({"text": text, "word": truth, **ranks})
            print(f"\n  {text}")
            _common.print_table(
                [
                    ("", f"rank of '{truth}'", "probability", "top 5"),
                    *(
                        (
                            f"{name} training",
                            f"{ranks[name]['rank']} of {size}",
                            ranks[name]["probability"],
                            " ".join(ranks[name]["top"]),
                        )
                        for name in ranks
                    ),
                ]
            )
        self.result["masks"] = found

    def classify(self):
        self._title("Fine-tuning: from which package is this docstring?")
        self.result["classifier"] = self._verb(
            "finetune", "text",
            "--data", self.folder / "docstrings",
            "--model", self.folder / "pretrained",
            "-o", self.folder / "classifier",
            "--epochs", 1 if self.tiny else 5,
            "--learning-rate", 1e-3,
            "--seed", self.seed,
        )  # fmt: skip
        self._verb(
            "predict", "text",
            "--data", self.folder / "docstrings" / "dev.jsonl",
            "--model", self.folder / "classifier",
            "-o", self.folder / "predictions.tsv",
        )  # fmt: skip

    def serve(self):
        from keras_bert.models import load

        self._title("SavedModel with strings in, read by a new process")
        path = self.folder / "saved_model"
        self._verb("export", self.folder / "classifier", path)
        rows = (self.folder / "docstrings" / "dev.jsonl").read_text()
        texts = [json.loads(row)["text"] for row in rows.splitlines()]
        texts = texts[:: max(1, len(texts) // 5)][:5]
        questions = self.folder / "questions.json"
        questions.write_text(json.dumps(texts))
        # -I: nothing from this folder or the user's can be imported.
        done = subprocess.run(
            [sys.executable, "-I", "-c", _CLIENT, path, questions],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"the client failed:\n{done.stderr}")
        served = json.loads(done.stdout.splitlines()[-1])
        here = load(self.folder / "classifier").classify(texts)
        rows = [("docstring", "here", "served", "probability", "served")]
        gap = 0.0
        for text, mine, label, probability in zip(
            texts, here, served["label"], served["probability"], strict=True
        ):
            shown = text if len(text) < 44 else text[:41] + "..."
            gap = max(gap, abs(mine["score"] - probability))
            rows.append(
                (
                    shown,
                    mine["label"],
                    label,
                    f"{mine['score']:.6f}",
                    f"{probability:.6f}",
                )
            )
        _common.print_table(rows)
        print(f"  largest difference of the probabilities: {gap:.1e}")
        self.result["served"] = {
            "largest_difference": gap,
            "same_labels": [one["label"] for one in here] == served["label"],
        }

    def summary(self):

        self._title("What was achieved")
        pretraining = self.result["pretraining"]
        held_out = pretraining["held_out"]
        rows = [
            _common.ACCURACY_HEADER,
            _common.accuracy_row("masked words", held_out["masked_accuracy"]),
        ]
        if "next_sentence_accuracy" in held_out:
            rows.append(
                _common.accuracy_row(
                    "next sentence", held_out["next_sentence_accuracy"]
                )
            )
        rows.append(
            _common.accuracy_row(
                "package of a docstring",
                self.result["classifier"]["dev"]["accuracy"],
            )
        )
        _common.print_table(rows)
        self.result["seconds"] = time.monotonic() - self.started
        _common.print_table(
            [
                ("path", "what"),
                (self.folder / "vocab.txt", "the vocabulary"),
                (self.folder / "pretrained", "the pretrained encoder"),
                (self.folder / "classifier", "the fine-tuned classifier"),
                (self.folder / "predictions.tsv", "its held-out predictions"),
                (self.folder / "saved_model", "the same for any server"),
                (self.folder / "summary.json", "all figures of this run"),
            ]
        )
        print(
            f"\n  pretraining took {pretraining['seconds']:.0f} s of "
            f"{self.result['seconds']:.0f} s in all"
        )
