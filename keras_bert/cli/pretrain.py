"""`keras-bert pretrain`: text files to a pretrained encoder."""

from keras_bert._errors import invalid
from keras_bert.cli import _common
from keras_bert.cli import _pretrain_settings
from keras_bert.cli._pretrain_settings import DEFAULTS

HELP = "pretrain BERT (masked words and next sentences) on text files"
EXAMPLE = (
    "keras-bert pretrain corpus/*.txt -o run --vocab vocab.txt "
    "--config bert_tiny --steps 10000"
)


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

    Returns the result that is written to result.json. A run that is finished
    is left as it is when `resume` asks for no more.
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
        settings = _pretrain_settings.resumed(description["settings"], given)
    _pretrain_settings.check(settings)
    _pretrain_settings.check_devices(settings)
    tokenizer = _pretrain.tokenizer_of_run(folder, settings, given)
    _pretrain_settings.check_lengths(folder.with_own_model(settings))
    text = Text(settings["files"], tokenizer, settings["sampling"])
    held_out = settings["held_out"] and Text(settings["held_out"], tokenizer)
    texts = {
        "text": text.fingerprint,
        "held_out_text": held_out and held_out.fingerprint,
    }
    if description is None:
        settings = _pretrain_settings.completed(settings, text, tokenizer)
        stages = [(0, settings["schedule_steps"] or settings["steps"])]
    else:
        if texts["text"] != description["text"]:
            raise invalid(
                "files",
                "the text that the run began with (its tokens differ)",
                settings["files"],
            )
        stages = [tuple(stage) for stage in description["stages"]]
        folder.check_steps(settings["steps"])
        finished = folder.finished(settings["steps"])
        if finished and texts["held_out_text"] == description.get(
            "held_out_text"
        ):
            print(f"finished before: {output}")
            return finished
    if stages[-1][1] < settings["steps"]:
        stages.append((stages[-1][1], settings["steps"]))
    _pretrain_settings.check_warmup(settings, stages)
    first, last = stages[0]
    pretrainer, schedule = _pretrain.new_model(
        folder.with_own_model(settings), tokenizer, last - first
    )
    if held_out:
        _evaluate_pretraining.check_held_out(
            "--held-out",
            held_out,
            settings["held_out"],
            pretrainer,
            sorted({length for length, _ in settings["phases"]}),
        )
    folder.write(
        {
            "task": "pretraining",
            "settings": settings,
            "stages": stages,
            **texts,
            "documents": text.num_documents,
            "tokens": text.num_tokens,
        }
    )
    if folder.tokenizer() is None:
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
        )
    _common.write_json(folder.path / "result.json", result)
    print(draw_curves(folder.lines(), folder.path / "curves.png"))
    if held_out:
        _evaluate_pretraining.print_pretraining(result["held_out"])
    print(f"\nwritten: {output}")
    return result


def _warmup(text):
    value = float(text)
    if value < 0 or (value > 1 and not value.is_integer()):
        raise ValueError
    # 1 is a step, 1.0 and 1e-1 are shares.
    return value if value <= 1 and not text.isdigit() else int(value)


_warmup.__name__ = "share from 0.0 to 1.0 or number of steps"


def _yes_or_no(text):
    if text not in ("yes", "no"):
        raise ValueError
    return text == "yes"


_yes_or_no.__name__ = "yes or no"
