"""The version, and what else a result's bits depend on."""

import platform
from importlib.metadata import version
from typing import Any

VERSION, OPENDP_VERSION = version("longsynth"), version("opendp")


def surroundings() -> dict[str, str]:
    """Return the platform and library versions under which bits can be expected to repeat."""
    import numpy
    import scipy.linalg  # noqa: F401  so that its BLAS is loaded and listed
    from threadpoolctl import threadpool_info

    blas: list[dict[str, Any]] = [i for i in threadpool_info() if i.get("user_api") == "blas"]
    kernels = sorted({f"{i['internal_api']} {i['version']} {i.get('architecture')}" for i in blas})
    return {
        "longsynth": VERSION,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "numpy": numpy.__version__,
        "pyarrow": version("pyarrow"),
        "blas": "; ".join(kernels),
    }
