"""Units: how a number in one unit becomes a number in another, by pint and public chemistry."""

import re
from fractions import Fraction
from functools import cache
from typing import Any

from longsynth.system.errors import Code, Refused

Conversion = tuple[float, float]  # factor and offset: converted = factor · number + offset

# How exports and UCUM write what pint calls by another name. Keys are in lower case.
_SPELLINGS = {
    "%": "percent",
    "[degf]": "degF",
    "°c": "degC",
    "°f": "degF",
    "c": "degC",
    "cel": "degC",
    "celsius": "degC",
    "f": "degF",
    "fahrenheit": "degF",
    "fraction": "dimensionless",
    "bpm": "1/min",
    "/min": "1/min",
    "{beats}/min": "1/min",
    "beats/min": "1/min",
    "breaths/min": "1/min",
    "min-1": "1/min",
    "mm hg": "mmHg",
    "mm[hg]": "mmHg",
    "cm h2o": "cmH2O",
    "cm[h2o]": "cmH2O",
    "meq/l": "mmol/L",  # for ions with one charge: sodium, potassium, chloride, bicarbonate
    "iu/l": "U/L",
    "[iu]/l": "U/L",
    "miu/l": "mU/L",
    "m[iu]/l": "mU/L",
    "{breaths}/min": "1/min",
    "ml/min/{1.73_m2}": "mL/min/1.73m2",
    "10*3/ul": "10^9/L",
    "k/ul": "10^9/L",
    "pg": "picogram",
    "[lb_av]": "lb",
    "[in_i]": "inch",
    "a": "year",
    "mo": "month",
    "kg/m2": "kg/m**2",
    "kg/m²": "kg/m**2",
    "mcg/l": "ug/L",
    "mcg/ml": "ug/mL",
    "lbs": "lb",
    "years": "year",
    "g/dl": "g/dL",
}
# UCUM's spelling of the catalogue's units, where it is another, and OMOP's concepts of UCUM units.
_IN_UCUM = {
    "": "1",
    "10^12/L": "10*12/L",
    "10^9/L": "10*9/L",
    "bpm": "/min",
    "breaths/min": "/min",
    "cmH2O": "cm[H2O]",
    "fraction": "1",
    "mEq/L": "meq/L",
    "mIU/L": "m[IU]/L",
    "mL/min/1.73m2": "mL/min/{1.73_m2}",
    "mmHg": "mm[Hg]",
    "per minute": "/min",
    "thousands per µL": "10*3/uL",
    "ug/day": "ug/d",
    "years": "a",
    "°C": "Cel",
    "°F": "[degF]",
}
_OMOP_UNITS = {
    "%": 8554,
    "/min": 8541,
    "10*12/L": 8734,
    "10*3/uL": 8848,
    "10*9/L": 9444,
    "Cel": 586323,
    "L/min": 8698,
    "U/L": 8645,
    "[degF]": 9289,
    "a": 9448,
    "cm": 8582,
    "cm[H2O]": 44777590,
    "fL": 8583,
    "g/dL": 8713,
    "kg": 9529,
    "kg/m2": 9531,
    "m[IU]/L": 9040,
    "mL": 8587,
    "meq/L": 9557,
    "mg/L": 8751,
    "mg/dL": 8840,
    "mm[Hg]": 8876,
    "mmol/kg": 9577,
    "mmol/L": 8753,
    "ng/mL": 8842,
    "pg": 8564,
    "pg/mL": 8845,
    "s": 8555,
    "ug/d": 8906,
    "umol/L": 8749,
}
_SPELLINGS |= {str(concept): _SPELLINGS.get(u.casefold(), u) for u, concept in _OMOP_UNITS.items()}
_SPELLINGS |= {"8734": "10^12/L", "9444": "10^9/L"}
_CELLS = re.compile(
    r"(/nl|k/ul|gpt/l|tsd/ul|g/l\*)"
    r"|(?:(?:x ?)?10(?:\^|\*|e|\*\*)?(\d+)|1|cells)?/(l|ul|µl|μl|mm3|mm³|nl)"
)
LONGEST = 60  # characters of a unit; pint's time grows with their square
_PER_LITRE = {"l": 1.0, "ul": 1e6, "µl": 1e6, "μl": 1e6, "mm3": 1e6, "mm³": 1e6, "nl": 1e9}

# g/mol, so that amounts (mmol/L) become masses (mg/dL). Public chemistry, by the catalogue's names.
_MOLAR_MASS = {
    "ammonia": 17.031,
    "bilirubin": 584.66,
    "bilirubin_direct": 584.66,
    "calcium": 40.078,
    "cholesterol": 386.65,
    "creatinine": 113.12,
    "glucose": 180.156,
    "haemoglobin": 16114.5,  # of one of its four chains, as laboratories count it
    "hdl_cholesterol": 386.65,
    "lactate": 90.08,
    "ldl_cholesterol": 386.65,
    "magnesium": 24.305,
    "phosphate": 30.974,  # as phosphorus
    "triglycerides": 885.4,
    "urea_nitrogen": 28.014,  # two atoms of nitrogen per molecule of urea
    "uric_acid": 168.11,
}


def conversion(given: str, wanted: str, variable: str = "") -> Conversion | None:
    """Return how numbers in the given unit become numbers in the wanted one, or None.

    Between amounts and masses it takes the molar mass of the variable, where that is known.
    """
    if _spelled(given) == _spelled(wanted):
        return 1.0, 0.0
    cells, wanted_cells = _cells(_SPELLINGS.get(given, given)), _cells(wanted)
    if wanted_cells is not None:
        cells = 1e9 if given.strip() == "G/L" else cells  # giga per litre
        return None if cells is None else (cells / wanted_cells, 0.0)
    if len(given) > LONGEST:
        return None
    units = _registry()
    try:
        start, end = (units.Unit(_pint(text)) for text in (given, wanted))
        weight = _MOLAR_MASS.get(variable)
        context = ("chemistry",) if weight else ()
        by_weight = {"mw": units.Quantity(weight, "g/mol")} if weight else {}
        zero, one = (units.Quantity(x, start).to(end, *context, **by_weight).m for x in (0.0, 1.0))
    except Exception:  # noqa: BLE001  pint raises anything for a text that is no unit
        return None
    return _exact(one - zero), _exact(zero)


def _exact(number: float) -> float:
    """The fraction that a number was before it was rounded on its way: 5/9 for °F."""
    near = float(Fraction(number).limit_denominator(10_000))
    return near if abs(near - number) < 1e-12 * max(abs(number), 1) else float(number)


def ucum(unit: str) -> str:
    """UCUM's spelling of a unit."""
    return _IN_UCUM.get(unit, unit)


def omop_unit(unit: str) -> int | None:
    """OMOP's standard concept of a unit, where it is known here."""
    return _OMOP_UNITS.get(ucum(unit))


def is_unit(text: str) -> bool:
    """Whether a text names a unit that can be converted."""
    return bool(text.strip()) and (_cells(text) is not None or conversion(text, text) is not None)


def _tidy(text: str) -> str:
    return " ".join(text.split()).casefold()


def _spelled(text: str) -> str:
    return _tidy(_SPELLINGS.get(_tidy(text), text))


def _pint(text: str) -> str:
    """The name that pint knows, without UCUM's annotations in braces, which change nothing."""
    bare = re.sub(r"\{[^}]*\}", "", text).strip("/ ") if "{" in text else text
    return _SPELLINGS.get(_tidy(text), bare or "dimensionless")


def _cells(text: str) -> float | None:
    """How many cells per litre one of this unit is, for counts of blood cells."""
    match = _CELLS.fullmatch(_tidy(text))
    if match is None:
        return None
    spelled, power, per = match.groups()
    return 1e9 if spelled else 10.0 ** int(power or 0) * _PER_LITRE[per]


class _Number(float):
    """Pint reads whole numbers as such, and would never finish with 9^9^9. This one overflows."""


@cache
def _registry() -> Any:
    try:
        import pint
    except ModuleNotFoundError:
        raise Refused(
            Code.PACKAGE_MISSING,
            "units are converted with pint, which is not installed.",
            "Install it: pip install 'longsynth[table]'",
        ) from None
    return pint.UnitRegistry(autoconvert_offset_to_baseunit=True, non_int_type=_Number)
