"""Why fine-tuning fails on small data: bias correction and number of steps."""

import dataclasses
from pathlib import Path

from keras_bert._errors import invalid
from keras_bert.cli import _common
from keras_bert.cli import _tasks
from keras_bert.cli import finetune
from keras_bert.cli.ablations._records import Records
from keras_bert.cli.ablations._records import checksum
from keras_bert.tasks.table import TASKS
from keras_bert.training.recipe import Recipe

HELP = "bias correction off/on, 3/20 epochs: spread and failures over seeds"
EXAMPLE = (
    "keras-bert ablate stability rte --data RTE --model bert_large "
    "--seeds 25 -o stability"
)

# Options that choose the runs, or whose effect on a run is in its recipe.
_NOT_OF_A_RUN = (
    "output", "data", "epochs", "seeds", "seed", "head_seed", "data_seed",
    "batch_size", "learning_rate", "recipe",
)  # fmt: skip


def add_arguments(parser):
    _tasks.add_task_arguments(parser)
    parser.add_argument(
        "--data", required=True, help="folder with the files of train and dev"
    )
    parser.add_argument("--model", required=True, help="run or checkpoint")
    parser.add_argument("-o", "--output", required=True, help="run folder")
    finetune.add_recipe_arguments(parser)
    parser.set_defaults(seeds=5)
    parser.add_argument(
        "--epochs",
        type=_common.positive_int,
        nargs="+",
        default=[3, 20],
        help="numbers of epochs to compare (3 20)",
    )


def run(args):
    with _tasks.named_as_options(args):
        return _run(args)


def _run(args):
    from keras_bert.tasks.runs import chance_of
    from keras_bert.tasks.runs import summary

    pyplot = _pyplot()
    known = Records(args.output)
    task = TASKS[args.task]
    options = _tasks.options_of(args, task)
    train, dev = finetune.rows_of(args.data, task, options, args.seed)
    _tasks.print_notes(train, *dev.values())
    given = {"batch_size": args.batch_size, "learning_rate": args.learning_rate}
    given = {key: value for key, value in given.items() if value is not None}
    # Mosbach et al. (2021): batch 16, rate 2e-5, all else as in the paper.
    base = dataclasses.replace(Recipe(batch_size=16), **given)
    finetune.check_rate(base.learning_rate)
    recipes = [
        dataclasses.replace(base, epochs=epochs, bias_correction=correction)
        for epochs in args.epochs
        for correction in (False, True)
    ]
    plan = [(one, *s) for one in recipes for s in finetune.seeds_of(args)]
    print(f"{len(plan)} runs: {len(recipes)} recipes, {args.seeds} seeds each")
    folder = Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        name: value
        for name, value in _tasks.settings_of(args).items()
        if name not in _NOT_OF_A_RUN
    }
    settings["rows"] = checksum([train, dev])
    of = {one: {**settings, "run": _plain(one)} for one in plan}
    left = [one for one in plan if known.find(of[one]) is None]
    if len(left) < len(plan):
        print(f"{len(plan) - len(left)} of them are in {args.output}")
    fresh = finetune.recorded_runs(
        args, task, (train, dev), left, options, folder,
        done=len(plan) - len(left),
    )  # fmt: skip
    for one, (record, _, _) in zip(left, fresh, strict=True):
        known.add(of[one], record)
    records = [known.find(of[one]) for one in plan]
    found = summary(records)
    chance = chance_of(records[0]["dev"])
    result = {
        "task": task.name,
        "metric": task.metric,
        "chance": chance,
        "summary": found,
        "settings": _tasks.settings_of(args),
    }
    _common.write_json(folder / "result.json", result)
    _draw(pyplot, task, found, chance, folder / "stability.png")
    rows = [("bias correction", "epochs", "runs", "mean", "std", "median",
             "best", "failed")]  # fmt: skip
    for one in found:
        scores = sorted(one["scores"])
        middle = len(scores) // 2
        median = (scores[middle] + scores[~middle]) / 2
        rows.append(
            (
                "on" if one["recipe"]["bias_correction"] else "off",
                one["recipe"]["epochs"],
                one["runs"],
                f"{one['mean']:.4f}",
                "" if one["std"] is None else f"{one['std']:.4f}",
                f"{median:.4f}",
                f"{one['best']:.4f}",
                one["failed"],
            )
        )
    _common.print_table(rows, f"{task.name}, {task.metric} on dev")
    print(
        f"  failed: no better than the commonest label ({chance:.4f})\n"
        f"\nwritten: {args.output} (stability.png is the picture)"
    )
    return result


def _plain(one):
    """A run of the plan as JSON: recipe and seeds."""
    recipe, *seeds = one
    return [dataclasses.asdict(recipe), *seeds]


def _pyplot():
    """matplotlib, asked for before hours of training, not after."""
    try:
        import matplotlib
    except ImportError as error:
        raise invalid(
            "stability",
            "matplotlib for the picture (pip install keras3-bert[plot])",
            "no matplotlib",
        ) from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _draw(pyplot, task, found, chance, path):
    """A box for each recipe, with a point for each seed."""
    figure, axes = pyplot.subplots(figsize=(1.6 * len(found) + 2, 4))
    names = [
        f"{one['recipe']['epochs']} epochs\ncorrection "
        + ("on" if one["recipe"]["bias_correction"] else "off")
        for one in found
    ]
    scores = [one["scores"] for one in found]
    axes.boxplot(scores, tick_labels=names, showfliers=False)
    for place, values in enumerate(scores, 1):
        axes.plot([place] * len(values), values, "o", alpha=0.5)
    axes.axhline(chance, linestyle="--", color="gray")
    axes.set_ylabel(f"{task.name}: {task.metric} on dev")
    axes.set_title("dashed: the commonest label")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
