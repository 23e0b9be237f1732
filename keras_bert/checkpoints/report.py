"""What loading did with each name."""

import dataclasses
import logging

LOGGER = logging.getLogger("keras_bert")


@dataclasses.dataclass
class LoadReport:
    """Which names were used, ignored, or newly initialised.

    Args:
        source: where the weights came from; `format`: in which format.
        used: our names of the variables that were read.
        unused: the source's names that nothing in the model asked for.
        newly_initialised: our names of head variables that the source does
            not hold.
        missing: backbone variables that the source does not hold (only with
            `strict=False`).
        mismatched: sentences on shapes that differ (only with
            `strict=False`).
        notes: sentences on what the format could not say exactly.
    """

    source: str
    format: str
    used: list = dataclasses.field(default_factory=list)
    unused: list = dataclasses.field(default_factory=list)
    newly_initialised: list = dataclasses.field(default_factory=list)
    missing: list = dataclasses.field(default_factory=list)
    mismatched: list = dataclasses.field(default_factory=list)
    notes: list = dataclasses.field(default_factory=list)

    @property
    def complete(self):
        """Whether every name on both sides found its partner."""
        return not (
            self.unused
            or self.newly_initialised
            or self.missing
            or self.mismatched
        )

    def __str__(self):
        lines = [
            f"Loaded {len(self.used)} variables from {self.source} "
            f"({self.format})."
        ]
        for title, items in (
            ("Newly initialised (train them)", self.newly_initialised),
            ("Not in the source", self.missing),
            ("Of another shape", self.mismatched),
            ("In the source, not used", self.unused),
            ("Note", self.notes),
        ):
            if items:
                lines.append(f"  {title}:")
                lines.extend(f"    {item}" for item in items)
        return "\n".join(lines)

    def show(self):
        """Logs the report once: a warning when something was left over."""
        level = logging.INFO if self.complete else logging.WARNING
        LOGGER.log(level, "%s", self)
