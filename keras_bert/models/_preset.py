"""from_preset and save_to_preset for the backbone and the task models."""

from keras_bert import checkpoints
from keras_bert._errors import invalid
from keras_bert.tokenizers import BertTokenizer

# Stands for "build what the source describes"; None means "no preprocessor".
FROM_SOURCE = "from_source"


class Preset:
    """Mixin: a model that is made from a SOURCE and written as a preset."""

    # The LoadReport of the weights; None for a model made from scratch.
    load_report = None

    def save_to_preset(self, preset_dir):
        """Writes config, weights, vocabulary and labels into a new folder.

        Args:
            preset_dir: path. The folder must not exist, or be empty.
        """
        checkpoints.write(self, preset_dir, format="keras_bert")


class BackbonePreset(Preset):
    """`Preset` for the backbone."""

    @classmethod
    def from_preset(cls, source, strict=True, load_weights=True, **kwargs):
        """A backbone with the weights of a checkpoint.

        Args:
            source: our preset or run folder; a Google folder, checkpoint
                prefix, `.index` or `.zip`; a Hugging Face folder; a Model
                Garden checkpoint; a KerasHub preset folder or name;
                `"hf://owner/name"`.
            strict: bool. A weight that is missing or has another shape
                raises; with `False` it is reported in `load_report`.
            load_weights: bool. `False` gives the architecture alone.
            **kwargs: arguments of the class that replace the source's.
        """
        checkpoint = checkpoints.open_source(source)
        backbone = cls(**{**checkpoint.backbone_config, **kwargs})
        if load_weights:
            backbone.load_report = checkpoints.load_weights(
                backbone, checkpoint, strict
            )
        return backbone


class TaskPreset(Preset):
    """`Preset` for the task models."""

    @classmethod
    def from_preset(
        cls,
        source,
        *,
        strict=True,
        load_weights=True,
        preprocessor=FROM_SOURCE,
        new_head=False,
        **kwargs,
    ):
        """A task model with the weights of a checkpoint.

        Heads that the source lacks are newly initialised and named in
        `load_report`, and so is the head of a classifier for which other
        `labels`, or another number of classes, are asked than it has.

        Args:
            source: as for `BertBackbone.from_preset`.
            strict, load_weights: likewise.
            preprocessor: left out, it is built from the source; `None` gives
                a model that takes ids.
            new_head: bool. `True` draws the head anew, also where the
                source has one for the same labels.
            **kwargs: arguments of the class, for instance `num_classes`,
                which otherwise come from the source.
        """
        from keras_bert.models.bert_backbone import BertBackbone

        checkpoint = checkpoints.open_source(source)
        shared = {
            key: kwargs[key] for key in ("dtype", "trainable") if key in kwargs
        }
        backbone = kwargs.pop("backbone", None) or BertBackbone(
            **{**checkpoint.backbone_config, **shared}
        )
        found = checkpoint.task_arguments(cls.__name__)
        arguments = _merged(found, kwargs)
        if isinstance(preprocessor, str):
            if preprocessor != FROM_SOURCE:
                raise invalid("preprocessor", "None or an object", preprocessor)
            preprocessor = cls._preprocessor_of(checkpoint, backbone)
        model = cls(backbone, preprocessor=preprocessor, **arguments)
        if load_weights:
            model.load_report = checkpoints.load_weights(
                model,
                checkpoint,
                strict,
                new_head or _other_classes(found, kwargs),
            )
        return model

    @classmethod
    def _preprocessor_of(cls, checkpoint, backbone):
        tokenizer = tokenizer_of(checkpoint)
        if tokenizer is None:
            return None
        settings = checkpoint.preprocessor_arguments(cls.__name__)
        if not settings:
            return tokenizer
        return cls.preprocessor_class(tokenizer, **settings)


def tokenizer_of(checkpoint):
    """The tokenizer that a checkpoint describes, or None."""
    arguments = checkpoint.tokenizer_arguments
    return None if arguments is None else BertTokenizer(**arguments)


def _merged(found, given):
    """The source's arguments with the user's on top.

    Labels and the number of classes belong together: who gives one of them
    replaces both.
    """
    if "num_classes" in given or "labels" in given:
        found = {
            key: value
            for key, value in found.items()
            if key not in ("num_classes", "labels")
            or len(given.get("labels") or ()) == found.get("num_classes")
            or given.get("num_classes") == found.get("num_classes")
        }
        if "labels" in given:
            found.pop("num_classes", None)
    return {**found, **given}


def _other_classes(found, given):
    """Whether the user asks for classes that the source's head has not."""
    labels, known = given.get("labels"), found.get("labels")
    if labels is not None and known is not None:
        return list(labels) != list(known)
    count = given.get("num_classes") if labels is None else len(labels)
    there = found.get("num_classes") if known is None else len(known)
    return None not in (count, there) and count != there
