"""METHODS: every generator by name."""

from threadpoolctl import threadpool_limits

from longsynth.bundle import Bundle
from longsynth.errors import Refused
from longsynth.methods.method import Method
from longsynth.methods.private.trust import Trust
from longsynth.model.model import Model

METHODS: dict[str, Method] = {
    "trust": Trust(),
}


def method_named(name: str) -> Method:
    if name not in METHODS:
        raise Refused(f"method {name!r} is unknown: choose {', '.join(METHODS)}.")
    return METHODS[name]


def model_of(bundle: Bundle) -> Model:
    """Return the sampler that a bundle describes. Post-processing: no data, no noise."""
    with threadpool_limits(limits=1):  # one thread: more would change the last bits
        return method_named(bundle.method).model(bundle)
