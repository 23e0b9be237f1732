"""Settings of a pretraining run: defaults, what a resumed run may change."""

import math

from keras_bert._errors import invalid
from keras_bert.cli import _common

# The parser has no defaults: a resumed run must tell what was given anew.
DEFAULTS = {
    "files": [],
    "vocab": None,
    "cased": False,
    "uncased": False,
    "config": None,
    "model": None,
    "steps": 10_000,
    "minutes": None,
    "schedule_steps": None,
    "batch_size": 32,
    "accumulate": 1,
    "sequence_length": 128,
    "phases": None,
    "learning_rate": 1e-4,
    "warmup": 0.1,
    "decay": "linear",
    "bias_correction": True,
    "weight_decay": 0.01,
    "clip": 1.0,
    "precision": "float32",
    "seed": 1,
    "next_sentence": "auto",
    "objective": "masked",
    "sampling": None,
    "masking": "pieces",
    "mask_rate": 0.15,
    "mask_token_rate": 0.8,
    "random_token_rate": 0.1,
    "held_out": None,
    "log_every": None,
    "save_every": 1000,
    "keep": 2,
    # Of the backbone beside the named size, for the ablations only.
    "backbone": {},
}
# What a resumed run may be given anew.
_CHANGEABLE = {"steps", "keep", "save_every", "files", "vocab", "held_out"}


def resumed(saved, given):
    """The settings of a run to go on with; steps and the like may be new."""
    settings = {**DEFAULTS, **saved}
    settings["phases"] = [tuple(phase) for phase in settings["phases"]]
    for name, value in given.items():
        if name in _CHANGEABLE:
            settings[name] = value
            continue
        before = settings[name]
        if name == "phases":
            value = with_phases({**DEFAULTS, "phases": value})["phases"]
        elif name == "sequence_length":
            value, before = [(value, 1.0)], settings["phases"]
        elif name == "next_sentence":
            value = {"auto": before, "yes": True, "no": False}[value]
        if value != before:
            raise invalid(
                f"--{name.replace('_', '-')}",
                f"{before}, the run's own, with --resume (only --steps, "
                "--save-every, --keep and the places of files may change)",
                value,
            )
    return settings


def check(settings):
    if not settings["files"]:
        raise invalid("files", "text files", settings["files"])
    for name in ("learning_rate", "minutes"):
        value = settings[name]
        if value is not None and not 0 < value < math.inf:
            kind = "a rate" if name == "learning_rate" else "a time"
            raise invalid(
                f"--{name.replace('_', '-')}", f"{kind} above 0", value
            )
    if not (settings["config"] or settings["model"]):
        raise invalid("--config", "a named size, or --model SOURCE", None)
    for name in ("weight_decay", "clip"):
        if not 0 <= settings[name] < math.inf:
            raise invalid(
                f"--{name.replace('_', '-')}", "0 or more", settings[name]
            )
    pairs = settings["next_sentence"] in ("yes", True)
    if pairs and settings["objective"] == "left-to-right":
        raise invalid(
            "--next-sentence", "no with --objective left-to-right", "yes"
        )
    _common.check_seed(settings["seed"])


def check_devices(settings):
    from keras_bert.training.distribution._devices import current

    replicas = 1 if current() is None else current().replicas
    if settings["batch_size"] % replicas:
        raise invalid(
            "--batch-size",
            f"a multiple of the {replicas} devices that it is spread over",
            settings["batch_size"],
        )


def with_phases(settings):
    from keras_bert.training.phases import parse_phases

    phases = settings["phases"]
    if phases is None:
        phases = [(settings["sequence_length"], 1.0)]
    elif isinstance(phases, str):
        phases = parse_phases(phases, "--phases")
    return {**settings, "phases": phases}


def check_lengths(settings):
    """Refuses rows that are longer than the position table."""
    longest = _longest(settings)
    phases = with_phases(settings)["phases"]
    for length, _ in phases:
        if length > longest:
            raise invalid(
                "--phases" if len(phases) > 1 else "--sequence-length",
                f"at most {longest}, the position table",
                length,
            )


def _longest(settings):
    """Rows of the position table, found without making the model."""
    if settings["config"]:
        from keras_bert.models.sizes import size_arguments

        size_arguments(settings["config"])
        return settings["backbone"].get("max_sequence_length", 512)
    from keras_bert import checkpoints

    config = checkpoints.open_source(settings["model"]).backbone_config
    return config.get("max_sequence_length", 512)


def completed(settings, text, tokenizer):
    """Settings of a new run with nothing left open."""
    from keras_bert.cli import _pretrain

    settings = with_phases(settings)
    choice = settings["next_sentence"]
    pairs = {"auto": None, "yes": True, "no": False}.get(choice, choice)
    if settings["objective"] == "left-to-right":
        if text.num_documents is None:
            raise invalid(
                "--objective",
                "masked with records of the original, which are masked already",
                settings["objective"],
            )
        pairs = False
    settings["next_sentence"] = pairs
    # Refuses bad settings of the data before the folder exists, and warns of
    # a corpus of one document.
    for length, _ in settings["phases"]:
        _pretrain.dataset_of(text, tokenizer, settings, length)
    if pairs is None:
        # The records of static files are pairs.
        documents = text.num_documents
        settings["next_sentence"] = documents is None or documents >= 2
    if settings["minutes"] is not None:
        settings["steps"] = _pretrain.steps_for(
            settings["minutes"], settings, text, tokenizer
        )
    if settings["log_every"] is None:
        settings["log_every"] = max(1, min(1000, -(-settings["steps"] // 20)))
    return settings


def check_warmup(settings, stages):
    warmup = settings["warmup"]
    for first, last in stages:
        if not isinstance(warmup, float) and warmup > last - first:
            raise invalid(
                "--warmup",
                f"at most the {last - first} steps from {first} on",
                warmup,
            )
