"""PyTorch, imported here and nowhere else, when it is asked for."""

import importlib
from typing import Any

from topoopt.errors import InvalidInput

REMEDY = 'pip install "topoopt[torch]"'


def torch_here() -> Any:
    """Return the module ``torch``.

    Raises
    ------
    InvalidInput
        If PyTorch is not installed, or cannot be loaded here.
    """
    try:
        return importlib.import_module("torch")
    except ModuleNotFoundError:
        raise InvalidInput(f"topoopt profile: PyTorch is not installed; {REMEDY}") from None
    except (ImportError, OSError) as error:
        reason = " ".join(str(error).split())
        raise InvalidInput(f"topoopt profile: PyTorch cannot be loaded: {reason}; {REMEDY}") from None
