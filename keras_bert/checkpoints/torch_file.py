"""Reading pytorch_model.bin without ever executing a pickle's code."""

import ml_dtypes
import numpy as np

from keras_bert.checkpoints.files import first_line
from keras_bert.checkpoints.files import refuse_pointer


class TorchStore:
    """Several .bin files read as one, through `torch.load(weights_only=True)`.

    Files that need more than plain tensors are refused: unpickling arbitrary
    objects would execute whatever the file says.
    """

    def __init__(self, files):
        self._tensors = {}
        for path in files:
            self._tensors.update(_load(path))

    def names(self):
        return list(self._tensors)

    def shape(self, name):
        return tuple(self._tensors[name].shape)

    def dtype(self, name):
        return _numpy(self._tensors[name][..., :0]).dtype

    def read(self, name):
        return _numpy(self._tensors[name])


def _load(path):
    try:
        import torch
    except ImportError as error:
        raise ValueError(
            f"{path} can only be read with torch installed: it is a pickle, "
            "and torch has the loader that executes no code. Or convert it "
            "to safetensors elsewhere"
        ) from error
    import pickle

    refuse_pointer(path)
    options = {"map_location": "cpu", "weights_only": True}
    try:
        try:
            found = torch.load(path, mmap=True, **options)
        except RuntimeError:
            # Files of torch before 1.6 are no zip and cannot be mapped.
            found = torch.load(path, **options)
    except pickle.UnpicklingError as error:
        raise ValueError(
            f"{path} is refused: reading it needs arbitrary unpickling, which "
            f"can execute code, or the file is damaged "
            f"({first_line(error)})"
        ) from error
    except (RuntimeError, EOFError, OSError, ValueError, KeyError) as error:
        raise ValueError(
            f"{path} is truncated or corrupt: {type(error).__name__} "
            f"{first_line(error)}"
        ) from error
    if not isinstance(found, dict):
        raise ValueError(f"{path} holds no dict of tensors")
    dtypes = _dtypes()
    wrong = [
        name
        for name, value in found.items()
        if not isinstance(name, str)
        or not torch.is_tensor(value)
        or value.layout != torch.strided
        or value.dtype not in dtypes
    ]
    if wrong:
        raise ValueError(
            f"{path} holds something besides plain tensors under {wrong[:3]}"
        )
    return found


def _dtypes():
    import torch

    return (
        torch.float64,
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.int64,
        torch.int32,
        torch.int16,
        torch.int8,
        torch.uint8,
        torch.bool,
    )


def _numpy(tensor):
    import torch

    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return np.asarray(tensor.numpy())
