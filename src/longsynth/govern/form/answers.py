"""The kinds of answer that a governance form takes."""

import re
from datetime import date
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
)

from longsynth.govern.names import require_name
from longsynth.schema.variable import InvalidField, Public
from longsynth.system.errors import Refused
from longsynth.system.outside_text import NAME, Answer

FILL = "FILL IN"  # what a new form holds where an answer belongs


def _day(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return value
    raise ValueError('write the day in quotes as "2031-01-31"')


def _name(value: str) -> str:
    try:
        require_name(value)
    except Refused as refusal:
        raise ValueError(str(refusal).removesuffix(".")) from None
    return value


Texts = Annotated[tuple[Answer, ...], Field(min_length=1)]
Name = Annotated[str, StringConstraints(max_length=NAME), AfterValidator(_name)]
Names = Annotated[tuple[Name, ...], Field(min_length=1)]
Day = Annotated[date, BeforeValidator(_day)]
Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class Section(Public):
    @field_validator("*", mode="before")
    @classmethod
    def _filled_in(cls, value: Any, info: ValidationInfo) -> Any:
        """Report a placeholder as such, not as text where a number belongs."""
        answers = enumerate(value) if isinstance(value, list) else [(None, value)]
        for i, answer in answers:
            if isinstance(answer, str) and answer.strip() == FILL:
                asked = cls.model_fields[info.field_name or ""].description or ""
                what = f": {asked[0].lower()}{asked[1:].rstrip('.')}" if asked else ""
                raise InvalidField(f"not filled in yet{what}", *([] if i is None else [i]))
        return value
