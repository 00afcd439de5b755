"""What a test checks of a refusal: its code, and that it names a remedy. Wording may change."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from longsynth import Refused


@contextmanager
def refused(code: str, kind: type[Refused] = Refused) -> Iterator[pytest.ExceptionInfo[Refused]]:
    with pytest.raises(kind) as caught:
        yield caught
    assert caught.value.code == code
    assert caught.value.remedy
