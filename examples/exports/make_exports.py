"""Four invented exports, as odd as those of hospitals: no patient in them exists.

python examples/exports/make_exports.py FOLDER
"""

import sys
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.random import Generator, default_rng

MG_PER_MMOL_GLUCOSE = 18.0156  # mg/dL in one mmol/L


@dataclass
class Visit:
    time: datetime
    values: dict[str, float]  # in the catalogue's units


@dataclass
class Patient:
    id: str
    sex: str
    born: date
    died: bool
    visits: list[Visit] = field(default_factory=list)


def patients(number: int, rng: Generator) -> list[Patient]:
    """Sicker patients have a faster pulse, a lower pressure and more inflammation, and die more
    often."""
    made = []
    for i in range(number):
        sick = float(rng.normal())
        patient = Patient(
            id=f"{700_000 + 13 * i}",
            sex="male" if rng.random() < 0.5 else "female",
            born=date(1930, 1, 1) + timedelta(days=int(rng.integers(0, 25_000))),
            died=bool(rng.random() < 1 / (1 + np.exp(2.2 - 1.2 * sick))),
        )
        weight = float(rng.normal(78, 14))
        time = datetime(2024, 1, 3) + timedelta(minutes=int(rng.integers(0, 300_000)))
        for _ in range(int(np.clip(rng.poisson(5) + 1, 1, 14))):
            systolic = round(128 - 9 * sick + float(rng.normal(0, 12)))
            values = {
                "heart_rate": round(78 + 8 * sick + float(rng.normal(0, 9))),
                "systolic_bp": systolic,
                "diastolic_bp": round(systolic * 0.6 + float(rng.normal(0, 5))),
                "temperature": round(36.8 + 0.4 * max(sick, 0.0) + float(rng.normal(0, 0.4)), 1),
                "glucose": round(105 + 25 * max(sick, 0.0) + float(rng.normal(0, 18))),
                "c_reactive_protein": round(
                    float(np.exp(1.6 + 0.8 * sick + rng.normal(0, 0.5))), 1
                ),
                "body_weight": round(weight + float(rng.normal(0, 0.4)), 1),
            }
            kept = {name: x for name, x in values.items() if rng.random() < 0.9}
            patient.visits.append(Visit(time, kept))
            time += timedelta(minutes=int(rng.exponential(30 * 24 * 60)) + 24 * 60)
        made.append(patient)
    return made


def _comma(number: float | None, digits: int = 1) -> str:
    return "" if number is None else f"{number:.{digits}f}".replace(".", ",")


def ward(folder: Path, rng: Generator, number: int = 450) -> list[Patient]:
    """One wide CSV with semicolons and a byte-order mark; °C and °F, two units of glucose in turn,
    147/94, <5, n.d., rows that occur twice, and columns of no interest."""
    made = patients(number, rng)
    lines = ["MRN;Visit date;DOB;Sex;Pulse;BP;Temp;Glucose;Glucose unit;CRP;Weight (kg);Died;Room"]
    for patient in made:
        fahrenheit, mmol = rng.random() < 0.2, rng.random() < 0.4
        for visit in patient.visits:
            get = visit.values.get
            pulse, temperature, glucose = get("heart_rate"), get("temperature"), get("glucose")
            pressures = get("systolic_bp"), get("diastolic_bp")
            if None in pressures:
                visit.values.pop("systolic_bp", None)
                visit.values.pop("diastolic_bp", None)
            if temperature is not None and fahrenheit:
                temperature = temperature * 9 / 5 + 32
            if glucose is not None and mmol:
                glucose = glucose / MG_PER_MMOL_GLUCOSE
            crp = get("c_reactive_protein")
            cells = [
                f"P{patient.id}",
                visit.time.strftime("%d/%m/%Y %H:%M"),
                patient.born.strftime("%d/%m/%Y"),
                "M" if patient.sex == "male" else "F",
                "n.d." if pulse is None else f"{pulse:.0f}",
                "" if None in pressures else f"{pressures[0]:.0f}/{pressures[1]:.0f}",
                _comma(temperature),
                _comma(glucose, 2 if mmol else 0),
                ("mmol/L" if mmol else "mg/dL") if glucose is not None else "",
                "<5" if crp is not None and crp < 5 else _comma(crp),
                _comma(get("body_weight")),
                str(int(patient.died)),
                f"Room {rng.integers(1, 40)}",
            ]
            lines += [";".join(cells)] * (2 if rng.random() < 0.01 else 1)
    text = "\r\n".join(lines) + "\r\n"
    (folder / "ward.csv").write_bytes(text.encode("utf-8-sig"))
    return made


def laboratory(folder: Path, rng: Generator, number: int = 150) -> list[Patient]:
    """A German laboratory: a long table in Windows' encoding, with tabs and two lines of title;
    patients in a file of their own."""
    made = patients(number, rng)
    names = {
        "glucose": ("Glukose", "mmol/L", lambda x: _comma(x / MG_PER_MMOL_GLUCOSE, 2)),
        "c_reactive_protein": ("CRP", "mg/L", _comma),
        "temperature": ("Körpertemperatur", "°C", _comma),
    }
    lines = ["Laborbericht", "Stand: März 2024", "PatNr\tZeitpunkt\tParameter\tWert\tEinheit"]
    people = ["PatNr\tGeburtsdatum\tGeschlecht\tVerstorben"]
    for patient in made:
        sex, died = "m" if patient.sex == "male" else "w", "ja" if patient.died else "nein"
        people.append(f"{patient.id}\t{patient.born:%d.%m.%Y}\t{sex}\t{died}")
        for visit in patient.visits:
            visit.values = {name: x for name, x in visit.values.items() if name in names}
            for name, x in visit.values.items():
                german, unit, shown = names[name]
                at = f"{visit.time:%d.%m.%Y %H:%M}"
                lines.append(f"{patient.id}\t{at}\t{german}\t{shown(x)}\t{unit}")
            lines.append(f"{patient.id}\t{visit.time:%d.%m.%Y %H:%M}\tBemerkung\tsiehe Akte\t")
    (folder / "labor.txt").write_bytes("\r\n".join([*lines, ""]).encode("cp1252"))
    (folder / "patienten.txt").write_bytes("\r\n".join([*people, ""]).encode("cp1252"))
    return made


def follow_up(folder: Path, rng: Generator, number: int = 150) -> list[Patient]:
    """A French register: commas between cells, quoted decimal commas, dates without a time."""
    made = patients(number, rng)
    lines = ["IPP,Date visite,Date de naissance,Sexe,Poids,Glycémie (mmol/L),Tension,Décès,Médecin"]
    for patient in made:
        for visit in patient.visits:
            visit.time = datetime.combine(visit.time.date(), datetime.min.time())
            get = visit.values.get
            glucose, pressures = get("glucose"), (get("systolic_bp"), get("diastolic_bp"))
            kept = {"body_weight", "glucose", *(() if None in pressures else (
                "systolic_bp", "diastolic_bp"))}  # fmt: skip
            visit.values = {name: x for name, x in visit.values.items() if name in kept}
            cells = [
                f"F{patient.id}",
                f"{visit.time:%Y-%m-%d}",
                f"{patient.born:%Y-%m-%d}",
                "H" if patient.sex == "male" else "F",
                f'"{_comma(get("body_weight"))}"',
                "" if glucose is None else f'"{_comma(glucose / MG_PER_MMOL_GLUCOSE, 2)}"',
                "" if None in pressures else f"{pressures[0]:.0f}/{pressures[1]:.0f}",
                "oui" if patient.died else "non",
                "X",
            ]
            lines.append(",".join(cells))
    (folder / "suivi.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    return made


def clinic(folder: Path, rng: Generator, number: int = 120) -> list[Patient]:
    """An American clinic: month first, °F and pounds, separated by bars."""
    made = patients(number, rng)
    lines = ["MRN|Visit Date|DOB|Gender|Temp (°F)|Weight (lb)|Heart Rate|Deceased"]
    for patient in made:
        for visit in patient.visits:
            visit.time = visit.time.replace(second=0)
            get = visit.values.get
            kept = {"temperature", "body_weight", "heart_rate"}
            visit.values = {name: x for name, x in visit.values.items() if name in kept}
            temperature, weight, pulse = get("temperature"), get("body_weight"), get("heart_rate")
            cells = [
                f"C{patient.id}",
                f"{visit.time:%m/%d/%Y %I:%M %p}",
                f"{patient.born:%m/%d/%Y}",
                "M" if patient.sex == "male" else "F",
                "" if temperature is None else f"{temperature * 9 / 5 + 32:.2f}",
                "" if weight is None else f"{weight / 0.45359237:.2f}",
                "" if pulse is None else f"{pulse:.0f}",
                "Y" if patient.died else "N",
            ]
            lines.append("|".join(cells))
    (folder / "clinic.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    return made


if __name__ == "__main__":
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for make in (ward, laboratory, follow_up, clinic):
        make(out, default_rng(2024))
