"""Reading pytorch_model.bin without ever executing a pickle's code."""

import ml_dtypes
import numpy as np


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
            f"({str(error).splitlines()[0]})"
        ) from error
    except (RuntimeError, EOFError, OSError, ValueError, KeyError) as error:
        raise ValueError(
            f"{path} is truncated or corrupt: {str(error).splitlines()[0]}"
        ) from error
    if not isinstance(found, dict):
        raise ValueError(f"{path} holds no dict of tensors")
    wrong = [
        name for name, value in found.items() if not torch.is_tensor(value)
    ]
    if wrong:
        raise ValueError(
            f"{path} holds something besides tensors under {wrong[:3]}"
        )
    return found


def _numpy(tensor):
    import torch

    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return np.asarray(tensor.numpy())
