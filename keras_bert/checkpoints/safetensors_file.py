"""Reading and writing .safetensors files one tensor at a time."""

import json
from pathlib import Path

import ml_dtypes
import numpy as np

from keras_bert.checkpoints.files import refuse_pointer

_DTYPES = {
    "F64": np.dtype("float64"),
    "F32": np.dtype("float32"),
    "F16": np.dtype("float16"),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "I64": np.dtype("int64"),
    "I32": np.dtype("int32"),
    "I16": np.dtype("int16"),
    "I8": np.dtype("int8"),
    "U8": np.dtype("uint8"),
    "BOOL": np.dtype("bool"),
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


class SafetensorsStore:
    """Several .safetensors files read as one.

    The file is opened anew for every tensor: a mapping kept open would keep
    all pages read so far in memory.
    """

    def __init__(self, files):
        self._where = {}
        for path in files:
            refuse_pointer(path)
            with _open(path) as file:
                for name in list(file.keys()):  # noqa: SIM118
                    part = file.get_slice(name)
                    dtype = part.get_dtype()
                    if dtype not in _DTYPES:
                        raise ValueError(
                            f"{path}: tensor `{name}` has type {dtype}, "
                            f"expected one of {sorted(_DTYPES)}"
                        )
                    self._where[name] = (
                        path,
                        tuple(part.get_shape()),
                        _DTYPES[dtype],
                    )

    def names(self):
        return list(self._where)

    def shape(self, name):
        return self._where[name][1]

    def dtype(self, name):
        return self._where[name][2]

    def read(self, name):
        with _open(self._where[name][0]) as file:
            return file.get_tensor(name)


def _open(path):
    import safetensors

    try:
        return safetensors.safe_open(str(path), framework="numpy")
    except safetensors.SafetensorError as error:
        raise ValueError(f"{path} is truncated or corrupt: {error}") from error


def write_safetensors(path, tensors, metadata=None):
    """Writes (name, dtype, shape, read) items; holds one tensor in memory.

    Args:
        path: the file.
        tensors: list of (names, dtype, shapes, read): `read()` gives the
            arrays of `names`, read when their turn comes.
        metadata: dict of str, or None.
    """
    header = {"__metadata__": dict(metadata or {})}
    offset = 0
    for found, dtype, shapes, _ in tensors:
        for name, shape in zip(found, shapes, strict=True):
            size = int(np.prod(shape, dtype="int64")) * dtype.itemsize
            header[name] = {
                "dtype": _NAMES[dtype],
                "shape": list(shape),
                "data_offsets": [offset, offset + size],
            }
            offset += size
    text = json.dumps(header).encode("utf-8")
    # The format asks for a header that ends on a multiple of 8 bytes.
    text += b" " * (-len(text) % 8)
    with Path(path).open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for _, dtype, _, read in tensors:
            for array in read():
                array = np.ascontiguousarray(array, dtype=dtype)
                file.write(array.reshape(-1).view("uint8").data)
