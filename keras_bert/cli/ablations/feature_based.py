"""Table 7: named entities from hidden states that stay fixed."""

import dataclasses
import statistics
from pathlib import Path

from keras_bert._errors import invalid
from keras_bert.cli import _common
from keras_bert.cli import _tasks
from keras_bert.cli import finetune
from keras_bert.cli.ablations._records import Records
from keras_bert.cli.ablations._records import checksum
from keras_bert.tasks import ner
from keras_bert.training.recipe import Recipe

HELP = "compare six ways to combine hidden states for a BiLSTM (table 7)"
EXAMPLE = (
    "keras-bert ablate feature-based --data conll2003 --model "
    "cased_L-12_H-768_A-12 --context document -o table7"
)


def add_arguments(parser):
    parser.add_argument(
        "--data",
        required=True,
        help="folder with train and dev in columns, or one file, of which a "
        "tenth is held out",
    )
    parser.add_argument(
        "--model", required=True, help="run or checkpoint of 4 blocks or more"
    )
    parser.add_argument("-o", "--output", required=True, help="run folder")
    parser.add_argument("--epochs", type=_common.positive_int, default=10)
    parser.add_argument("--seeds", type=_common.positive_int, default=1)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--batch-size", type=_common.positive_int, default=32)
    parser.add_argument(
        "--sequence-length", type=_common.positive_int, default=128
    )
    parser.add_argument(
        "--units",
        type=_common.positive_int,
        default=768,
        help="of each direction of the two LSTMs (the paper: 768)",
    )
    for name, arguments in ner.TASK.options.items():
        parser.add_argument("--" + name, **arguments)


def run(args):
    with _tasks.named_as_options(args):
        return _run(args)


def _run(args):
    import keras

    from keras_bert.checkpoints import open_source
    from keras_bert.models import BertFeatureTagger
    from keras_bert.models import bert_feature_tagger
    from keras_bert.tasks.fine_tune import fine_tune
    from keras_bert.tasks.fine_tune import preprocessor_of
    from keras_bert.training import Progress

    finetune.check_rate(args.learning_rate)
    config = open_source(args.model).backbone_config
    if config["num_layers"] < 4:
        raise invalid(
            "--model",
            "an encoder of 4 blocks or more, as four are combined",
            f"{args.model} with {config['num_layers']}",
        )
    options = {name: getattr(args, name) for name in ner.TASK.options}
    train, dev = finetune.rows_of(args.data, ner.TASK, options)
    dev = dev["dev"]
    _tasks.print_notes(train, dev)
    recipe = Recipe(
        learning_rate=args.learning_rate,
        batch_size=args.batch_size,
        epochs=args.epochs,
    )
    preprocessor = preprocessor_of(
        ner.TASK, args.model, options, args.sequence_length
    )
    records = Records(args.output)
    rows, runs = [], []
    for name, layers, combine, paper in bert_feature_tagger.TABLE_7:
        found = []
        for seed in range(1, args.seeds + 1):
            of = {
                "layers": name,
                "seed": seed,
                "model": args.model,
                "data": checksum([train, dev]),
                "units": args.units,
                "sequence_length": args.sequence_length,
                "recipe": dataclasses.asdict(recipe),
                **options,
            }
            figures = records.find(of)
            if figures is None:
                keras.utils.set_random_seed(seed)
                model = BertFeatureTagger.from_preset(
                    args.model,
                    preprocessor=preprocessor,
                    **ner.TASK.model_arguments(train),
                    hidden_layers=layers,
                    combine=combine,
                    lstm_units=args.units,
                )
                figures, _ = fine_tune(
                    ner.TASK,
                    model,
                    train,
                    {"dev": dev},
                    recipe,
                    seed=seed,
                    callbacks=[Progress(label=f"{name}, seed {seed}: step")],
                )
                if figures["diverged"]:
                    raise invalid(
                        "--learning-rate",
                        "one at which the loss stays a number "
                        f"({figures['diverged']})",
                        args.learning_rate,
                    )
                records.add(of, figures)
                # A compiled step keeps its model alive.
                keras.backend.clear_session(free_memory=True)
            found.append(figures["dev"]["f1"])
            runs.append({"layers": name, "seed": seed, **figures})
        rows.append(
            {
                "layers": name,
                "dev_f1": statistics.fmean(found),
                "std": statistics.stdev(found) if found[1:] else None,
                "paper": paper,
            }
        )
    result = {
        "rows": rows,
        "recipe": dataclasses.asdict(recipe),
        "data": args.data,
        "model": args.model,
        "seeds": args.seeds,
    }
    _common.write_json(
        Path(args.output) / "result.json", {**result, "runs": runs}
    )
    table = [
        ("hidden states", "dev F1", "std", "the paper (CoNLL-2003, BASE)"),
        *(
            (
                row["layers"],
                f"{row['dev_f1']:.1f}",
                "" if row["std"] is None else f"{row['std']:.1f}",
                f"{row['paper']:.1f}",
            )
            for row in rows
        ),
    ]
    _common.print_table(table)
    print(f"\nwritten: {args.output}")
    return result
