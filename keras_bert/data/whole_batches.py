"""Parts of rows, of any size -> groups of whole batches."""

import numpy as np


def whole_batches(parts, batch_size, missing, most):
    """Yield dicts of the rows of up to `most` batches at a time.

    What is left of a part goes before the next one, so the order of the rows
    stays and none is lost.

    Args:
        parts: iterable of dicts of arrays, a row each.
        batch_size: integer: rows of a batch.
        missing: integer: how many batches are wanted in all.
        most: integer.
    """
    pending = None
    for rows in parts:
        if pending is not None:
            rows = {
                name: np.concatenate([pending[name], rows[name]])
                for name in rows
            }
        count = min(len(next(iter(rows.values()))) // batch_size, missing)
        for first in range(0, count, most):
            last = min(first + most, count)
            part = slice(first * batch_size, last * batch_size)
            yield {name: value[part] for name, value in rows.items()}
        missing -= count
        if not missing:
            return
        pending = {
            name: value[count * batch_size :] for name, value in rows.items()
        }
