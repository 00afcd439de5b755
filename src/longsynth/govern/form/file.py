"""A governance form on disk. Its hash is that of the exact bytes, comments included."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from longsynth.govern.form.content import Governance
from longsynth.system.errors import Refused
from longsynth.system.yaml_text import Format

FORMAT = Format(
    Governance, "governance form", "governance: 1", "longsynth governance new", Refused, told=200
)


@dataclass(frozen=True, slots=True)
class Form:
    says: Governance
    sha256: str  # what a release's manifest names


def load_form(path: Path | str) -> Form:
    """Read and check a form; every problem and every open question names its line."""
    content = FORMAT.read(Path(path))
    says = FORMAT.parse(FORMAT.decode(content, str(path)), str(path))
    return Form(says, sha256(content).hexdigest())


def json_schema() -> dict[str, Any]:
    """The same rules for other tools, but for those that hold between two answers."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Governance.model_json_schema(),
        "title": "longsynth governance form",
    }
