"""What the ablations of pretraining share: pretrain, fine-tune, tabulate.

Every figure of a table is a dev score after fine-tuning, as in the paper. A
task without data stays blank; a loss of pretraining never stands in its
place. The paper's own figures stand beside ours, with the two scales named.

The same command run again keeps what is finished and goes on with the rest: a
pretraining at its last checkpoint, a fine-tuning run from its beginning.
"""

import dataclasses
import math
import re
import statistics
from pathlib import Path

from keras_bert._errors import invalid
from keras_bert.cli import _common
from keras_bert.cli._run_folder import RunFolder
from keras_bert.cli.ablations._records import Records
from keras_bert.cli.ablations._records import checksum
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


def add_arguments(parser, columns, config=True):
    """The arguments of all of them; --config not where the rows have it."""
    positive = _common.positive_int
    parser.add_argument("files", nargs="+", help="text files or shards")
    parser.add_argument("-o", "--output", required=True, help="folder")
    parser.add_argument("--vocab", help="vocabulary file")
    _common.add_case_arguments(parser)
    if config:
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


class Experiment:
    """The runs of one ablation, in its folder.

    Args:
        args: of `add_arguments`.
        columns: the paper's `Column`s; each other task with data is one more.
    """

    def __init__(self, args, columns):
        self.args = args
        self.folder = Path(args.output)
        self._records = Records(self.folder)
        if not 0 < args.finetune_rate < math.inf:
            raise invalid(
                "--finetune-rate", "a rate above 0", args.finetune_rate
            )
        self._data = _given_data(args.finetune)
        known = {column.task for column in columns}
        self.headers = [column.header for column in columns]
        self.columns = [
            *columns,
            *(Column(task, task) for task in self._data if task not in known),
        ]

    def pretrained(self, name, **changes):
        """Pretrains one variant; gives its run folder and its result."""
        print(f"\n=== pretraining: {name}", flush=True)
        settings = _settings_of(self.args, changes)
        run = RunFolder(self.folder / _file_name(name))
        if run.begun:
            saved = run.read()["settings"]
            steps = saved["schedule_steps"] or saved["steps"]
            if steps != self.args.steps:
                raise invalid(
                    "--steps",
                    f"{steps}, with which {run.path} was begun (or a new -o)",
                    self.args.steps,
                )
        return run, pretrain(run.path, settings, resume=True)

    def scores(self, source, columns=None, bilstm=False):
        """{header: mean dev score in percent} for the tasks with data.

        Args:
            source: folder of the pretrained encoder, below that of all.
            columns: those to fill; None: all.
            bilstm: puts a BiLSTM on top.
        """
        found = {}
        for column in columns or self.columns:
            if column.task in self._data and _fits(column, source):
                scores = [
                    self._score(source, column, bilstm, seed)
                    for seed in range(1, self.args.seeds + 1)
                ]
                scores = [score for score in scores if score is not None]
                if scores:
                    found[column.header] = statistics.fmean(scores)
        return found

    def _score(self, source, column, bilstm, seed):
        args = self.args
        train, dev, data = self._data[column.task]
        of = {
            "source": str(source.relative_to(self.folder)),
            "task": column.task,
            "kind": column.kind,
            "bilstm": bilstm,
            "data": data,
            "epochs": args.finetune_epochs,
            "learning_rate": args.finetune_rate,
            "seed": seed,
        }
        label = f"{column.header}, seed {seed}"
        score = self._records.find(of)
        if score is None:
            score = _fine_tuned(
                column, source, train, dev, of, f"{label}: step"
            )
            if score is None:
                print(f"{label}: the loss became no number, left out")
                return None
            self._records.add(of, score)
        print(f"{label}: {score:.1f}", flush=True)
        return score

    def report(self, title, lead, rows, scale=None, paper="BERT BASE"):
        """Prints and writes a table of rows: names, ours, the paper's.

        Args:
            title: of the table.
            lead: headers of the leading cells.
            rows: dicts with `cells` (leading), `ours` and `paper`
                {header: value}.
            scale, paper: what sizes of encoders were trained.
        """
        args = self.args
        columns = list(
            dict.fromkeys(
                header
                for part in ("paper", "ours")
                for row in rows
                for header in row[part]
            )
        )
        scale = (
            f"ours: {scale or args.config}, {args.steps:,} steps of "
            f"{args.batch_size} x {args.sequence_length}, {args.seeds} "
            "fine-tuning run(s)"
        )
        lines = [
            [*lead, *columns, "|", *(f"paper {name}" for name in columns)],
            *(
                [
                    *map(str, row["cells"]),
                    *(_cell(row["ours"].get(name)) for name in columns),
                    "|",
                    *(_cell(row["paper"].get(name)) for name in columns),
                ]
                for row in rows
            ),
        ]
        _common.print_table(lines, title)
        print(
            "  dev scores after fine-tuning on the data given, blank where "
            f"none was given or every run diverged\n  {scale}\n"
            f"  paper: {paper}, 1,000,000 steps of 256 x 512"
        )
        result = {"table": title, "scale": scale, "rows": rows}
        _common.write_json(self.folder / "result.json", result)
        print(f"\nwritten: {self.folder}")
        return result


def _given_data(given):
    """{task: (train, dev, checksum)}, read before anything is trained."""
    from keras_bert.tasks.table import TASKS

    found = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or name not in TASKS:
            raise invalid(
                "--finetune", f"TASK=DATA with one of {', '.join(TASKS)}", text
            )
        task = TASKS[name]
        train, dev = (
            task.read(path, split, **_options(task))
            for split in ("train", task.dev[0])
        )
        if train["y"] is None or dev["y"] is None:
            raise invalid("--finetune", "train and dev with labels", text)
        found[name] = train, dev, checksum([train, dev])
    return found


def _settings_of(args, changes):
    """Settings of `pretrain` from the arguments of an ablation."""
    names = ("files", "vocab", "config", "steps", "batch_size", "held_out",
             "sequence_length", "learning_rate", "seed", "cased",
             "uncased")  # fmt: skip
    given = {
        name: getattr(args, name)
        for name in names
        if getattr(args, name, None) is not None
    }
    unknown = set(changes) - set(DEFAULTS)
    assert not unknown, unknown
    return {**given, **changes}


def _file_name(name):
    return "_".join(re.findall(r"\w+", name))


def _options(task):
    return {
        name: arguments.get("default")
        for name, arguments in task.options.items()
    }


def _fits(column, source):
    """Whether the encoder has what the column needs."""
    from keras_bert.checkpoints import open_source

    if column.kind != "features":
        return True
    enough = open_source(source).backbone_config["num_layers"] >= 4
    if not enough:
        print(f"{column.header}: no four last layers to join, left blank")
    return enough


def _fine_tuned(column, source, train, dev, of, label):
    """The dev score of one run, in percent; None if its loss diverged."""
    import keras

    from keras_bert.tasks.fine_tune import fine_tune
    from keras_bert.tasks.table import TASKS
    from keras_bert.training import Progress
    from keras_bert.training.recipe import Recipe

    task = TASKS[column.task]
    figures, _ = fine_tune(
        task,
        model_of(task, source, train, column.kind, of["bilstm"], of["seed"]),
        train,
        {task.dev[0]: dev},
        Recipe(learning_rate=of["learning_rate"], epochs=of["epochs"]),
        options=_options(task),
        seed=of["seed"],
        callbacks=[Progress(label=label)],
    )
    # A compiled step keeps its model alive.
    keras.backend.clear_session(free_memory=True)
    if figures["diverged"]:
        return None
    figures = figures["dev"]
    if task.name in _PERCENT:
        return task.headline(figures)
    # The paper's tables have the accuracy of MRPC.
    value = figures.get("accuracy")
    if value is None:
        value = task.headline(figures)
    elif isinstance(value, dict):
        value = value["value"]
    return 100 * value


def model_of(task, source, train, kind, bilstm, seed):
    """The model to fine-tune.

    Args:
        task: a `Task`.
        source: the pretrained encoder.
        train: rows.
        kind: "fine-tuning", or "features" for an encoder that stays fixed.
        bilstm: puts a BiLSTM on top of the encoder.
        seed: draws the new parts.
    """
    import keras

    from keras_bert import models
    from keras_bert.checkpoints import open_source
    from keras_bert.cli.ablations._bilstm import BiLstmBackbone
    from keras_bert.tasks.fine_tune import new_model
    from keras_bert.tasks.fine_tune import preprocessor_of

    options = _options(task)
    if kind != "features" and not bilstm:
        return new_model(task, source, train, options, seed=seed)
    arguments = {
        "preprocessor": preprocessor_of(task, source, options),
        **task.model_arguments(train, **options),
    }
    config = open_source(source).backbone_config
    keras.utils.set_random_seed(seed)
    if bilstm:
        arguments["backbone"] = BiLstmBackbone(**config)
        return getattr(models, task.model).from_preset(source, **arguments)
    return models.BertFeatureTagger.from_preset(
        source,
        hidden_layers=[-4, -3, -2, -1],
        combine="concat",
        lstm_units=config["hidden_dim"],
        **arguments,
    )


def _cell(value):
    return "" if value is None else f"{value:.1f}"
