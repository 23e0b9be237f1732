"""What the ablations of pretraining share: pretrain, fine-tune, tabulate.

Every figure of a table is a dev score after fine-tuning, as in the paper. A
task without data stays blank; a loss of pretraining never stands in its
place. The paper's own figures stand beside ours, with the two scales named.
"""

import dataclasses
import statistics

from keras_bert._errors import invalid
from keras_bert.cli import _common
from keras_bert.cli.pretrain import DEFAULTS
from keras_bert.cli.pretrain import pretrain

# These tasks give percent, the others shares.
_PERCENT = ("squad-v1", "squad-v2", "ner")


@dataclasses.dataclass(frozen=True)
class Column:
    """One column of a table: a task, and how it is learned."""

    header: str
    task: str
    kind: str = "fine-tuning"


def add_arguments(parser, columns):
    positive = _common.positive_int
    parser.add_argument("files", nargs="+", help="text files or shards")
    parser.add_argument("-o", "--output", required=True, help="folder")
    parser.add_argument("--vocab", help="vocabulary file")
    _common.add_case_arguments(parser)
    parser.add_argument("--config", default="bert_tiny", help="(bert_tiny)")
    parser.add_argument(
        "--steps", type=positive, default=1000, help="of each pretraining"
    )
    parser.add_argument("--batch-size", type=positive, default=32)
    parser.add_argument("--sequence-length", type=positive, default=128)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--held-out", nargs="+", help="text files")
    names = ", ".join(dict.fromkeys(column.task for column in columns))
    parser.add_argument(
        "--finetune",
        action="append",
        default=[],
        metavar="TASK=DATA",
        help=f"data of a task, may be repeated; the paper's: {names}",
    )
    parser.add_argument("--finetune-epochs", type=positive, default=3)
    parser.add_argument("--finetune-rate", type=float, default=1e-4)
    parser.add_argument(
        "--seeds",
        type=positive,
        default=1,
        help="fine-tuning runs of each figure (the paper: 5)",
    )


def given_data(args):
    """{task: data} of --finetune, looked at before anything is trained."""
    from keras_bert.tasks.table import TASKS

    found = {}
    for text in args.finetune:
        task, equals, path = text.partition("=")
        if not equals or task not in TASKS:
            raise invalid(
                "--finetune", f"TASK=DATA with one of {', '.join(TASKS)}", text
            )
        options = _options(TASKS[task])
        found[task] = [
            TASKS[task].read(path, split, **options)
            for split in ("train", TASKS[task].dev[0])
        ]
    return found


def settings_of(args, **changes):
    """Settings of `pretrain` from the arguments of an ablation."""
    names = ("files", "vocab", "config", "steps", "batch_size", "held_out",
             "sequence_length", "learning_rate", "seed", "cased",
             "uncased")  # fmt: skip
    given = {
        name: getattr(args, name)
        for name in names
        if getattr(args, name) is not None
    }
    unknown = set(changes) - set(DEFAULTS)
    assert not unknown, unknown
    return {**given, **changes}


def pretrained(args, folder, name, **changes):
    """Pretrains one variant; gives its run folder and its result."""
    print(f"\n=== pretraining: {name}", flush=True)
    path = folder / name.replace(" ", "_").replace("/", "-")
    return path, pretrain(path, settings_of(args, **changes), resume=True)


def scores(args, source, columns, data, bilstm=False):
    """{header: mean dev score in percent} for the tasks with data."""
    return {
        column.header: score
        for column in columns
        if column.task in data
        and (score := _score(args, source, column, data, bilstm)) is not None
    }


def _options(task):
    return {
        name: arguments.get("default")
        for name, arguments in task.options.items()
    }


def _score(args, source, column, data, bilstm):
    import keras

    from keras_bert.tasks.fine_tune import fine_tune
    from keras_bert.tasks.table import TASKS
    from keras_bert.training import Progress
    from keras_bert.training.recipe import Recipe

    task = TASKS[column.task]
    train, dev = data[column.task]
    recipe = Recipe(
        learning_rate=args.finetune_rate, epochs=args.finetune_epochs
    )
    found = []
    for seed in range(1, args.seeds + 1):
        model = _model(task, source, train, column.kind, bilstm, seed)
        if model is None:
            return None
        figures, _ = fine_tune(
            task,
            model,
            train,
            {task.dev[0]: dev},
            recipe,
            options=_options(task),
            seed=seed,
            callbacks=[Progress(label=f"{column.header}, seed {seed}: step")],
        )
        figures = figures["dev"]
        # The paper's tables have the accuracy of MRPC.
        value = figures.get("accuracy")
        if value is None or task.name in _PERCENT:
            value = task.headline(figures)
        elif isinstance(value, dict):
            value = value["value"]
        found.append(value if task.name in _PERCENT else 100 * value)
        keras.backend.clear_session(free_memory=True)
    return statistics.fmean(found)


def _model(task, source, train, kind, bilstm, seed):
    from keras_bert.checkpoints import open_source
    from keras_bert.cli.ablations._bilstm import BiLstmBackbone
    from keras_bert.models import BertFeatureTagger
    from keras_bert.tasks.fine_tune import new_model

    options = _options(task)
    config = open_source(source).backbone_config
    if kind == "features" and config["num_layers"] < 4:
        print(f"{source}: no four last layers to concatenate, left blank")
        return None
    model = new_model(task, source, train, options, seed=seed)
    arguments = {
        "preprocessor": model.preprocessor,
        **task.model_arguments(train, **options),
    }
    if kind == "features":
        return BertFeatureTagger.from_preset(
            source,
            hidden_layers=[-4, -3, -2, -1],
            combine="concat",
            lstm_units=config["hidden_dim"],
            **arguments,
        )
    if bilstm:
        backbone = BiLstmBackbone(**config)
        return type(model).from_preset(source, backbone=backbone, **arguments)
    return model


def report(folder, args, title, headers, rows):
    """Prints and writes a table of rows: names, ours, the paper's.

    Args:
        headers: names of the leading cells, then of the columns.
        rows: dicts with `cells` (leading), `ours` and `paper` {header: value}.
    """
    lead, columns = headers
    extra = [
        header
        for row in rows
        for header in row["ours"]
        if header not in columns
    ]
    columns = [*columns, *dict.fromkeys(extra)]
    scale = (
        f"ours: {args.config}, {args.steps:,} steps of {args.batch_size} x "
        f"{args.sequence_length}, {args.seeds} fine-tuning run(s)"
    )
    header = [*lead, *columns, "|", *(f"paper {name}" for name in columns)]
    lines = [header]
    for row in rows:
        lines.append(
            [
                *map(str, row["cells"]),
                *(_cell(row["ours"].get(name)) for name in columns),
                "|",
                *(_cell(row["paper"].get(name)) for name in columns),
            ]
        )
    _common.print_table(lines, title)
    print(
        f"  dev scores after fine-tuning on the data given, blank where none "
        f"was given\n  {scale}\n  paper: BERT BASE (or the size named), "
        "1,000,000 steps of 256 x 512"
    )
    result = {"table": title, "scale": scale, "rows": rows}
    _common.write_json(folder / "result.json", result)
    print(f"\nwritten: {folder}")
    return result


def _cell(value):
    return "" if value is None else f"{value:.1f}"


def extra_columns(columns, data):
    """The paper's columns, and one for each other task with data."""
    known = {column.task for column in columns}
    return [*columns, *(Column(task, task) for task in data
                        if task not in known)]  # fmt: skip
