"""The folder of a pretraining run.

    run.json                   settings, stages, versions
    vocab.txt, tokenizer_config.json
    metrics.jsonl              a line per report
    tensorboard/               the same for TensorBoard
    curves.png                 the same as a picture (with matplotlib)
    checkpoints/step-00001000/ preset, and the state to go on from
    checkpoints/best/          preset of the best report
    preset/                    the end result
    result.json

Every preset, and the folder itself, is a SOURCE for `from_preset` and `load`.
"""

import json
import shutil
from pathlib import Path

from keras_bert._errors import invalid
from keras_bert.cli import _common
from keras_bert.data.filesystem import write_text
from keras_bert.training import state_file


class RunFolder:
    """Paths of a run, and what is read and written there."""

    def __init__(self, path):
        self.path = Path(path)
        self.checkpoints = self.path / "checkpoints"
        self.metrics = self.path / "metrics.jsonl"
        self.preset = self.path / "preset"

    @property
    def begun(self):
        return (self.path / "run.json").is_file()

    def read(self):
        path = self.path / "run.json"
        try:
            return json.loads(path.read_text())
        except ValueError as error:
            raise invalid("-o", f"a whole run.json ({error})", path) from error

    def write(self, description):
        self.path.mkdir(parents=True, exist_ok=True)
        _common.write_json(self.path / "run.json", description)

    def write_tokenizer(self, tokenizer):
        tokenizer.save_to_preset(self.path)

    def tokenizer(self):
        """The tokenizer of the run, or None before it is written."""
        from keras_bert.tokenizers import BertTokenizer

        names = ("vocab.txt", "tokenizer_config.json")
        if not all((self.path / name).is_file() for name in names):
            return None
        return BertTokenizer.from_preset(self.path)

    def with_own_model(self, settings):
        """Settings that build the model from the run's own checkpoint.

        What it was begun from may be gone; all weights come from there.
        """
        newest = self.newest()
        if not settings["model"] or newest is None:
            return settings
        return {**settings, "model": str(newest / "preset")}

    def newest(self):
        """The newest whole checkpoint, or None."""
        found = state_file.checkpoints_in(self.checkpoints)
        return found[-1] if found else None

    def check_steps(self, steps):
        """Refuses fewer steps than the run has done."""
        newest = self.newest()
        done = state_file.read_position(newest)["step"] if newest else 0
        if steps < done:
            raise invalid(
                "--steps",
                f"at least {done}, which the run in -o has done",
                steps,
            )

    def finished(self, steps):
        """The result of a run that has ended after so many steps, or None."""
        path = self.path / "result.json"
        if not (path.is_file() and self.preset.is_dir()):
            return None
        result = json.loads(path.read_text())
        return result if result["steps"] == steps else None

    def save(self, model, position, keep):
        path = self.checkpoints / f"step-{position['step']:08d}"
        with state_file.whole_folder(path) as folder:
            state_file.write_state(folder, model, position)
            model.save_to_preset(folder / "preset")
        state_file.prune(self.checkpoints, keep)

    def save_best(self, model, step, value):
        with state_file.whole_folder(self.checkpoints / "best") as folder:
            model.save_to_preset(folder / "preset")
            (folder / "best.json").write_text(
                json.dumps({"step": step, "value": value}) + "\n"
            )

    def save_preset(self, model):
        with state_file.whole_folder(self.preset) as folder:
            # A preset is written into a folder that is not there yet.
            folder.rmdir()
            model.save_to_preset(folder)

    def begin_at(self, step):
        """Forgets what was reported after the checkpoint of that step."""
        (self.path / "result.json").unlink(missing_ok=True)
        shutil.rmtree(self.preset, ignore_errors=True)
        lines = [line for line in self.lines() if line["step"] <= step]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        write_text(self.metrics, text)

    def lines(self):
        """The reports; a last line cut by a kill does not count."""
        if not self.metrics.is_file():
            return []
        found = []
        for line in self.metrics.read_text().split("\n"):
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        return found

    def add_line(self, line):
        with open(self.metrics, "a") as file:
            file.write(json.dumps(line) + "\n")
