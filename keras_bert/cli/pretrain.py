"""`keras-bert pretrain`: text files to a pretrained encoder."""

from keras_bert._errors import invalid
from keras_bert.cli import _common

HELP = "pretrain BERT (masked words and next sentences) on text files"
EXAMPLE = (
    "keras-bert pretrain corpus/*.txt -o run --vocab vocab.txt "
    "--config bert_tiny --steps 10000"
)
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


def add_arguments(parser):
    def option(name, help, type=None, **arguments):
        key = name.strip("-").replace("-", "_")
        shown = DEFAULTS[key]
        if isinstance(shown, int | float | str) and shown is not False:
            help += f" ({shown})"
        parser.add_argument(name, help=help, type=type, **arguments)

    positive = _common.positive_int
    parser.add_argument("files", nargs="*", help="text files or globs")
    parser.add_argument("-o", "--output", required=True, help="run folder")
    option("--vocab", "vocabulary file")
    _common.add_case_arguments(parser)
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--config", help="named size, such as bert_tiny")
    start.add_argument(
        "--model",
        help="checkpoint to go on from, with new optimizer and schedule; a "
        "larger vocabulary gets new rows",
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--steps", type=positive, help="updates (10000)")
    length.add_argument(
        "--minutes",
        type=float,
        help="as many steps as this machine does in that time",
    )
    option(
        "--schedule-steps",
        "steps of the warm-up and decay, if not --steps: for a run that is "
        "done in several calls",
        positive,
    )
    option("--batch-size", "rows worked through at a time", positive)
    option(
        "--accumulate",
        "batches of one update; their gradients are divided by the masked "
        "tokens of all",
        positive,
    )
    rows = parser.add_mutually_exclusive_group()
    rows.add_argument(
        "--sequence-length", type=positive, help="tokens of a row (128)"
    )
    rows.add_argument(
        "--phases", help="lengths and shares of the steps: 128:0.9,512:0.1"
    )
    option("--learning-rate", "peak", float)
    option("--warmup", "share of the steps (0.1) or steps (10000)", _warmup)
    option(
        "--decay",
        "linear: from the peak; original: the line of the 2018 code",
        choices=("linear", "original"),
    )
    option(
        "--bias-correction",
        "of Adam; no: as the 2018 code",
        _yes_or_no,
        metavar="yes|no",
    )
    option("--weight-decay", "except of biases and LayerNorm", float)
    option("--clip", "limit of the norm of all gradients; 0: none", float)
    option(
        "--precision",
        "of the matrix products",
        choices=("float32", "bfloat16", "float16"),
    )
    option("--seed", "of weights, pairs, masks and dropout", int)
    option(
        "--next-sentence",
        "auto: with two or more documents",
        choices=("auto", "yes", "no"),
    )
    option(
        "--objective",
        "left-to-right: predict every next token from those before it",
        choices=("masked", "left-to-right"),
    )
    option(
        "--sampling",
        "exponent for folders of several languages, as 0.7 of the "
        "multilingual recipe",
        float,
    )
    option(
        "--masking",
        "what is chosen together",
        choices=("pieces", "whole_words", "spans"),
    )
    option("--mask-rate", "share of tokens chosen", float)
    option("--mask-token-rate", "share of them replaced by [MASK]", float)
    option("--random-token-rate", "share replaced by a random token", float)
    option(
        "--held-out",
        "text files measured at every report and at the end; they choose the "
        "best checkpoint",
        nargs="+",
    )
    option("--log-every", "steps between reports (20 reports)", positive)
    option("--save-every", "steps between checkpoints", positive)
    option("--keep", "number of last checkpoints that stay", positive)
    parser.add_argument(
        "--devices",
        type=positive,
        help="devices that each batch is spread over; a run may go on with "
        "another number",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on with the run in -o where it stopped (a new run if there "
        "is none); --steps may ask for more",
    )
    parser.set_defaults(cased=None, uncased=None)


def run(args):
    given = {
        name: value
        for name, value in vars(args).items()
        if name in DEFAULTS and value not in (None, [])
    }
    if args.devices is None:
        return pretrain(args.output, given, resume=args.resume)
    from keras_bert.training import distribute

    with distribute(devices=args.devices) as chosen:
        if chosen is not None and chosen.processes > 1:
            raise invalid(
                "--devices",
                "the devices of one process; for several hosts write a script "
                "as guides/pretrain_on_tpu.py",
                args.devices,
            )
        return pretrain(args.output, given, resume=args.resume)


def pretrain(output, given, resume=False):
    """The verb as a function: settings by name, as in `DEFAULTS`.

    Returns the result that is written to result.json.
    """
    from keras_bert.cli import _evaluate_pretraining
    from keras_bert.cli import _pretrain
    from keras_bert.cli._curves import draw_curves
    from keras_bert.cli._pretrain_text import Text
    from keras_bert.cli._run_folder import RunFolder

    folder = RunFolder(output)
    description = folder.read() if resume and folder.begun else None
    if description is None:
        _common.check_new(output, "-o")
        settings = {**DEFAULTS, **given}
    else:
        settings = _settings_of(description["settings"], given)
    _check(settings)
    tokenizer = _pretrain.tokenizer_of(settings)
    _pretrain.check_lengths(_with_phases(settings), _longest(settings))
    text = Text(settings["files"], tokenizer, settings["sampling"])
    held_out = settings["held_out"] and Text(settings["held_out"], tokenizer)
    found = text.fingerprint()
    if description is None:
        settings = _completed(settings, text, tokenizer)
        stages = [(0, settings["schedule_steps"] or settings["steps"])]
    else:
        if found != description["text"]:
            raise invalid(
                "files",
                "the text that the run began with (its tokens differ)",
                settings["files"],
            )
        stages = [tuple(stage) for stage in description["stages"]]
        folder.check_steps(settings["steps"])
    if stages[-1][1] < settings["steps"]:
        stages.append((stages[-1][1], settings["steps"]))
    _check_warmup(settings, stages)
    first, last = stages[0]
    pretrainer, schedule = _pretrain.new_model(
        settings, tokenizer, last - first
    )
    folder.write(
        {
            "task": "pretraining",
            "settings": settings,
            "stages": stages,
            "text": found,
            "documents": text.num_documents,
            "tokens": text.num_tokens,
        }
    )
    if description is None:
        folder.write_tokenizer(tokenizer)
    figures = _pretrain.train(
        folder,
        settings,
        stages,
        text,
        pretrainer,
        schedule,
        tokenizer,
        held_out,
    )
    folder.save_preset(pretrainer)
    result = {
        "task": "pretraining",
        **figures,
        "next_sentence": settings["next_sentence"],
        "settings": settings,
    }
    if held_out:
        result["held_out"] = _evaluate_pretraining.evaluate_pretraining(
            pretrainer,
            held_out.source,
            tokenizer,
            settings["phases"][-1][0],
            objective=settings["objective"],
        )
    _common.write_json(folder.path / "result.json", result)
    print(draw_curves(folder.lines(), folder.path / "curves.png"))
    if held_out:
        _evaluate_pretraining.print_pretraining(result["held_out"])
    print(f"\nwritten: {output}")
    return result


def _settings_of(saved, given):
    """The settings of a run to go on with; steps and the like may be new."""
    settings = {**DEFAULTS, **saved}
    settings["phases"] = [tuple(phase) for phase in settings["phases"]]
    for name, value in given.items():
        if name in _CHANGEABLE:
            settings[name] = value
            continue
        before = settings[name]
        if name == "phases":
            value = _with_phases({**DEFAULTS, "phases": value})["phases"]
        elif name == "sequence_length":
            value, before = [(value, 1.0)], settings["phases"]
        elif name == "next_sentence":
            value = {"auto": before, "yes": True, "no": False}[value]
        elif name == "minutes":
            value = before
        if value != before:
            raise invalid(
                f"--{name.replace('_', '-')}",
                f"{before}, the run's own, with --resume (only --steps, "
                "--save-every, --keep and the places of files may change)",
                value,
            )
    return settings


def _check(settings):
    if not settings["files"]:
        raise invalid("files", "text files", settings["files"])
    for name in ("learning_rate", "minutes"):
        value = settings[name]
        if value is not None and not value > 0:
            kind = "a rate" if name == "learning_rate" else "a time"
            raise invalid(
                f"--{name.replace('_', '-')}", f"{kind} above 0", value
            )
    if not (settings["config"] or settings["model"]):
        raise invalid("--config", "a named size, or --model SOURCE", None)
    for name in ("weight_decay", "clip"):
        if settings[name] < 0:
            raise invalid(
                f"--{name.replace('_', '-')}", "0 or more", settings[name]
            )
    _common.check_seed(settings["seed"])


def _with_phases(settings):
    from keras_bert.training.phases import parse_phases

    phases = settings["phases"]
    if phases is None:
        phases = [(settings["sequence_length"], 1.0)]
    elif isinstance(phases, str):
        phases = parse_phases(phases, "--phases")
    return {**settings, "phases": phases}


def _longest(settings):
    """Rows of the position table, found without making the model."""
    if settings["config"]:
        from keras_bert.models.sizes import size_arguments

        size_arguments(settings["config"])
        return settings["backbone"].get("max_sequence_length", 512)
    from keras_bert import checkpoints

    config = checkpoints.open_source(settings["model"]).backbone_config
    return config.get("max_sequence_length", 512)


def _completed(settings, text, tokenizer):
    """Settings of a new run with nothing left open."""
    from keras_bert.cli import _pretrain

    settings = _with_phases(settings)
    choice = settings["next_sentence"]
    pairs = {"auto": None, "yes": True, "no": False}.get(choice, choice)
    if settings["objective"] == "left-to-right":
        pairs = False
    if pairs is None:
        # The records of static files are pairs.
        pairs = text.num_documents is None or text.num_documents >= 2
    settings["next_sentence"] = pairs
    # Refuses bad settings of the data before the folder exists.
    for length, _ in settings["phases"]:
        _pretrain.dataset_of(text, tokenizer, settings, length)
    if settings["minutes"] is not None:
        settings["steps"] = _pretrain.steps_for(
            settings["minutes"], settings, text, tokenizer
        )
    if settings["log_every"] is None:
        settings["log_every"] = max(1, min(1000, -(-settings["steps"] // 20)))
    return settings


def _check_warmup(settings, stages):
    warmup = settings["warmup"]
    for first, last in stages:
        if not isinstance(warmup, float) and warmup > last - first:
            raise invalid(
                "--warmup",
                f"at most the {last - first} steps from {first} on",
                warmup,
            )


def _warmup(text):
    value = float(text)
    if value < 0 or (value > 1 and not value.is_integer()):
        raise ValueError
    return value if "." in text and value <= 1 else int(value)


_warmup.__name__ = "share from 0.0 to 1.0 or number of steps"


def _yes_or_no(text):
    if text not in ("yes", "no"):
        raise ValueError
    return text == "yes"


_yes_or_no.__name__ = "yes or no"
