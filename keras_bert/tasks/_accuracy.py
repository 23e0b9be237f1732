"""An accuracy beside chance, with its interval."""

import math


def accuracy(value, examples, chance):
    """An accuracy with its 95% interval (Wilson) and the chance level."""
    z = 1.96
    centre = (value + z * z / (2 * examples)) / (1 + z * z / examples)
    half = (
        z
        * math.sqrt(value * (1 - value) / examples + z * z / (4 * examples**2))
        / (1 + z * z / examples)
    )
    low, high = centre - half, centre + half
    return {
        "value": float(value),
        "low": low,
        "high": high,
        "chance": chance,
        "examples": examples,
        "verdict": (
            "above chance"
            if low > chance
            else "below chance"
            if high < chance
            else "within its 95% interval of chance"
        ),
    }
