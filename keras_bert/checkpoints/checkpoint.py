"""A checkpoint: a config, and arrays that are read one at a time."""

import numpy as np

from keras_bert.checkpoints import names
from keras_bert.checkpoints import tensors

# The parts of the model that each task model adds to the backbone.
TASK_PARTS = {
    "BertTextClassifier": ("classifier",),
    "BertTokenClassifier": ("classifier",),
    "BertFeatureTagger": ("classifier",),
    "BertMultipleChoice": ("classifier",),
    "BertQuestionAnswerer": ("span",),
    "BertMaskedLM": ("mlm",),
    "BertPretrainer": ("mlm", "next_sentence"),
    "BertTextEmbedder": (),
}
CLASSIFIERS = (
    "BertTextClassifier",
    "BertTokenClassifier",
    "BertMultipleChoice",
)


class Checkpoint:
    """What a SOURCE holds, in our names; arrays are read when asked for.

    Attributes:
        format: "keras_bert", "huggingface", "google", "model_garden" or
            "keras_hub".
        source: what the user named; `path`: the folder or file it became.
        backbone_config: keyword arguments of `BertBackbone`.
        task: name of the task model whose head is in the file, or None.
        task_config: keyword arguments of that task model besides
            `backbone` and `preprocessor`.
        preprocessor_config: keyword arguments of its preprocessor besides
            the tokenizer, or None (only our own preset and sentence
            embedders carry it).
        problem_type: how transformers reads the outputs of a text classifier,
            in its words, or None; kept for what is converted back.
        vocabulary: list of tokens (index = id), or None. Raises ValueError
            when the source describes a tokenizer that is not BERT's.
        tokenizer_config: dict in Hugging Face's words (`do_lower_case`,
            `strip_accents`, ...), or None without a vocabulary.
        unused: foreign names that no rule of the table knows.
        notes: sentences on what could not be carried over exactly.

    `store` answers `names()`, `shape(name)`, `dtype(name)` and `read(name)`
    in the format's own names; `aliases` maps a name of the table to the name
    that the file uses for it.
    """

    def __init__(
        self,
        format,
        source,
        store,
        backbone_config,
        aliases=None,
        skipped=(),
        task=None,
        task_is_certain=True,
        task_config=None,
        embedder_config=None,
        preprocessor_config=None,
        problem_type=None,
        tokenizer=None,
        notes=(),
        path=None,
    ):
        self.format = format
        self.source = str(source)
        self.path = str(path or source)
        self.backbone_config = dict(backbone_config)
        self.task = task
        self.task_is_certain = task_is_certain
        self.preprocessor_config = preprocessor_config
        self.problem_type = problem_type
        self.notes = [*notes, *(tokenizer.notes if tokenizer else ())]
        self._task_config = dict(task_config or {})
        self._embedder_config = dict(embedder_config or {})
        self._tokenizer = tokenizer
        self._store = store
        self._entries = {}
        self._collect(aliases, set(skipped))

    def _collect(self, aliases, skipped):
        """Finds which variables of the table the file holds."""
        if aliases is None:
            aliases = {name: name for name in self._store.names()}
        used = set()
        wanted = TASK_PARTS.get(self.task, ())
        found = list(self._table())
        # Two heads may claim the name `logits`: the task's own comes first.
        found.sort(key=lambda entry: entry.part not in wanted)
        for entry in found:
            raw = tuple(aliases.get(name) for name in entry.foreign)
            if None in raw or entry.name in self._entries:
                continue
            self._entries[entry.name] = entry._replace(foreign=raw)
            used.update(raw)
        self.unused = sorted(
            name
            for name in aliases.values()
            if name not in used and name not in skipped
        )

    def _table(self):
        if self.format != "keras_bert":
            return names.entries(
                self.format, self.backbone_config["num_layers"]
            )
        return [
            names.Entry(
                self._logits_part(names.part_of(name)), "own", name, (name,)
            )
            for name in self._store.names()
        ]

    def _logits_part(self, part):
        if part == "logits":
            return (*TASK_PARTS.get(self.task, ()), "classifier")[0]
        return part

    @property
    def vocabulary(self):
        return self._tokenizer.vocabulary if self._tokenizer else None

    @property
    def tokenizer_config(self):
        return self._tokenizer.config if self._tokenizer else None

    @property
    def tokenizer_arguments(self):
        """Keyword arguments of `BertTokenizer`, or None."""
        return self._tokenizer.arguments if self._tokenizer else None

    @property
    def tokenizer_files(self):
        """The `TokenizerFiles`, or None when they are not BERT's."""
        return None if self.tokenizer_problems else self._tokenizer

    @property
    def tokenizer_problems(self):
        """Sentences on a tokenizer that is not BERT's; usually none."""
        problem = self._tokenizer and self._tokenizer.problem
        return [problem] if problem else []

    @property
    def task_config(self):
        return self.task_arguments(self.task)

    def task_arguments(self, task):
        """Keyword arguments that this source gives to the task model.

        Empty for a task whose head the source does not hold.
        """
        if task == "BertTextEmbedder":
            return dict(self._embedder_config)
        if task is None or not self.fits(task):
            return {}
        arguments = dict(self._task_config)
        if task in ("BertTextClassifier", "BertTokenClassifier"):
            if "logits/kernel" in self._entries:
                arguments["num_classes"] = self.shape("logits/kernel")[1]
        elif task == "BertMultipleChoice":
            arguments = {
                key: value
                for key, value in arguments.items()
                if key == "dropout"
            }
        elif self.format != "keras_bert":
            arguments = {}
        return arguments

    def preprocessor_arguments(self, task):
        """Arguments of that task model's preprocessor, or {}."""
        if task == self.task or (
            task == "BertTextEmbedder" and self._embedder_config
        ):
            return dict(self.preprocessor_config or {})
        return {}

    def fits(self, task):
        """Whether the heads in the source are those of that task model.

        A classifier from a source that does not say what it classifies
        fits all three classifiers.
        """
        if task == self.task:
            return True
        if not self.task_is_certain:
            return task in CLASSIFIERS and self.task in CLASSIFIERS
        return False

    def heads(self):
        """The parts besides the backbone that the source holds."""
        parts = {entry.part for entry in self._entries.values()}
        return [
            part
            for part in ("mlm", "next_sentence", "classifier", "span")
            if part in parts
        ]

    def names(self):
        """Our names of all variables that the source holds."""
        return list(self._entries)

    def __contains__(self, name):
        return name in self._entries

    def part(self, name):
        return self._entries[name].part

    def foreign_names(self, name):
        """What the source calls this variable (three names for q, k, v)."""
        return self._entries[name].foreign

    def foreign_shapes(self, name):
        return [
            tuple(self._store.shape(raw)) for raw in self.foreign_names(name)
        ]

    def shape(self, name):
        """The variable's shape here; reads no data."""
        entry = self._entries[name]
        shapes = self.foreign_shapes(name)
        if entry.kind == "own":
            return shapes[0]
        for raw in entry.foreign:
            # Integers are quantised weights: without their scales, noise.
            if self._store.dtype(raw).kind not in "fV":
                raise ValueError(
                    f"{self.path}: `{raw}` has type "
                    f"{self._store.dtype(raw)}, expected floating point"
                )
        try:
            return tensors.joined_shape(
                entry.kind,
                self.format,
                shapes,
                self.backbone_config["num_heads"],
            )
        except (ValueError, IndexError) as error:
            raise ValueError(
                f"{self.path}: cannot read `{name}` from "
                f"{_listed(entry.foreign)} of shape {shapes[0]}: {error}"
            ) from error

    def dtype(self, name):
        """The type of the file; of three that differ, one that holds all."""
        found = {self._store.dtype(raw) for raw in self.foreign_names(name)}
        if len(found) == 1:
            return found.pop()
        return np.promote_types("float32", np.result_type(*found))

    def read(self, name):
        """The variable's array, in the type of the file.

        Raises ValueError where it holds NaN or infinity: every output of
        such a model would be NaN, and nothing else would say so.
        """
        entry = self._entries[name]
        if entry.kind == "own":
            return self._finite(name, name)
        self.shape(name)
        return tensors.join(
            entry.kind,
            self.format,
            [
                self._finite(raw, name).astype(self.dtype(name), copy=False)
                for raw in entry.foreign
            ],
            self.backbone_config["num_heads"],
        )

    def _finite(self, raw, name):
        array = self._store.read(raw)
        finite = np.isfinite(array)
        if finite.all():
            return array
        ours = "" if raw == name else f" (here `{name}`)"
        raise ValueError(
            f"{self.path}: `{raw}`{ours} should hold finite numbers, found "
            f"NaN or infinity in {array.size - int(finite.sum()):,} of "
            f"{array.size:,} places: the training that wrote it had failed, "
            "or the file is damaged"
        )


def _listed(items):
    return ", ".join(f"`{item}`" for item in items)
