"""The OMOP import as Ibis expressions, compiled to DuckDB and Postgres for the same rows from both.

Times are whole seconds since 1970, and values are text until they are back in DuckDB. Casts that
could fail for one cell happen there, where they cannot stop a query.
"""

from collections.abc import Sequence
from typing import Any

import ibis
import ibis.expr.types as ir

from longsynth.reading.adapter import Key, Target
from longsynth.reading.formats.omop import EVENTS, IBIS, Column, EventColumns, by_event
from longsynth.schema.mapping import End, Moment
from longsynth.schema.schema import Schema

FIRST, LAST = "0001-01-02 00:00:00", "9999-12-30 00:00:00"  # outside lie infinity and no calendar
OPERATORS = {4171756: "<", 4171754: "<=", 4172704: ">", 4171755: ">="}  # of a censored number
DAY = 86_399  # seconds from midnight to the last second of a day


def table(name: str, columns: Sequence[Column], types: dict[str, str]) -> ir.Table:
    """An unbound table with every column of the model; a missing one is null."""
    there = ibis.table({c.name: types[c.name] for c in columns if c.name in types}, name=name)
    lacking = {c.name: ibis.null(IBIS[c.role]) for c in columns if c.name not in types}
    return there.mutate(**lacking) if lacking else there


def people(tables: dict[str, ir.Table], schema: Schema, targets: Sequence[Target]) -> ir.Table:
    """One row per person, with or without a visit: start, stop, birth, death and labels."""
    person, visit = tables["person"], _first_visits(tables, schema)
    persons = person.select(
        id=person.person_id,
        year=person.year_of_birth,
        month=person.month_of_birth,
        day=person.day_of_birth,
        **_labels(person, "person", targets),
    )
    care = {"care": visit.care_site_id} if "care_site" in tables else {}
    labels = _labels(visit, "visit_occurrence", targets)
    if care or labels:
        visits = visit.select(visitor=visit.person_id, **care, **labels)
        persons = persons.left_join(visits, persons.id == visits.visitor).drop("visitor")
    records = _records(tables, schema)
    persons = persons.left_join(records, persons.id == records.owner).drop("owner")
    if "care_site" in tables:
        labels = {n: c.min() for n, c in _labels(tables["care_site"], "care_site", targets).items()}
        site = tables["care_site"].group_by("care_site_id").agg(**labels)
        persons = persons.left_join(site, persons.care == site.care_site_id).drop(
            "care", "care_site_id"
        )
    if "death" in tables:
        death = tables["death"]
        died = death.select(
            dead=death.person_id, death=_seconds(death.death_datetime, death.death_date)
        )
        died = died.group_by("dead").agg(death=died.death.min())
        return persons.left_join(died, persons.id == died.dead).drop("dead")
    return persons.mutate(death=ibis.null("float64"))


def events(tables: dict[str, ir.Table], schema: Schema, targets: Sequence[Target]) -> ir.Table:
    """The rows that the schema names, in the record or not: the import says why one is left out."""
    used = dict.fromkeys(t.codes.table for t in targets if by_event(t))
    parts = [_events(tables[name], name, targets) for name in used]
    rows = ibis.union(parts[0], *parts[1:]) if len(parts) > 1 else parts[0]
    return rows.filter(rows.key.notnull())


def keys(targets: Sequence[Target]) -> list[Key]:
    """Every key that `events` can have, and its target."""
    mapped = [t for t in targets if by_event(t)]
    by_concept = [(_concept(t.codes.table, c), t, str(c)) for t in mapped for c in t.codes.concepts]
    by_code = [(_code(t.codes.table, code), t, code) for t in mapped for code in t.codes.codes]
    named = by_concept + by_code
    return [(key, t.number, None, code if t.coded else None) for key, t, code in named]


def _concept(name: str, concept: int) -> str:
    return f"{name} concept {concept}"


def _code(name: str, code: str) -> str:
    return f"{name} source {code}"


def _records(tables: dict[str, ir.Table], schema: Schema) -> ir.Table:
    """One row per person with a record: when it starts, and when it stops, or null."""
    start, end = schema.source.start, schema.source.end
    times = _times(tables, start)
    if times is None:
        visit = _first_visits(tables, schema)
        opened = visit.select(owner=visit.person_id, start=visit.start, until=visit.stop)
    else:
        opened = times.group_by("owner").agg(start=times.clock.min())
        opened = opened.filter(opened.start.notnull()).mutate(until=ibis.null("float64"))
    closers = _times(tables, end, last=True)
    if closers is not None:
        closers = closers.rename(closer="owner")
        closed = closers.inner_join(opened, closers.closer == opened.owner)
        closed = closed.filter(closed.clock > closed.start)
        closed = closed.group_by("closer").agg(closed=closed.clock.min())
        opened = opened.left_join(closed, opened.owner == closed.closer).drop("closer")
        opened = opened.mutate(until=opened.closed).drop("closed")
    if end.hours is not None:
        latest = opened.start + end.hours * 3600
        whole = closers is not None
        opened = opened.mutate(until=ibis.least(opened.until, latest) if whole else latest)
    return opened.rename(stop="until")


def _times(tables: dict[str, ir.Table], moment: Moment | End, last: bool = False) -> Any:
    """When an index event happens, or what a column says: owner and clock; None: neither is given.
    A record ends with the last second of a date."""
    if moment.concepts:
        rows, names = tables[moment.table], EVENTS[moment.table]
        there = rows[names.concept].isin(moment.concepts)
        there |= rows[names.source_concept].isin(moment.concepts).fill_null(False)
        rows = rows.filter(there)
        return rows.select(
            owner=rows.person_id, clock=_seconds(rows[names.stamp], rows[names.date])
        )
    if moment.column:
        table, _, column = moment.column.partition(".")
        rows, clock = tables[table], _seconds(tables[table][column])
        whole_day = DAY if last and column.endswith("_date") else 0
        return rows.select(owner=rows.person_id, clock=clock + whole_day)
    return None


def _first_visits(tables: dict[str, ir.Table], schema: Schema) -> ir.Table:
    """One row per person: the first visit that qualifies. Ties go to the smaller visit id."""
    visit, rule = tables["visit_occurrence"], schema.source.start
    start = _seconds(visit.visit_start_datetime, visit.visit_start_date)
    stop, day = _seconds(visit.visit_end_datetime), _seconds(visit.visit_end_date)
    timed = visit.mutate(start=start, stop=(stop > start).ifelse(stop, day + DAY))
    fits = timed.start.notnull()
    if rule.visits:
        fits &= timed.visit_concept_id.isin(rule.visits)
    if rule.min_hours:
        fits &= (timed.stop - timed.start) >= rule.min_hours * 3600
    qualified = timed.filter(fits)
    order = [qualified.start, qualified.visit_occurrence_id]
    ranked = qualified.mutate(
        place=ibis.row_number().over(group_by=qualified.person_id, order_by=order)
    )
    return ranked.filter(ranked.place == 0)


def _events(rows: ir.Table, name: str, targets: Sequence[Target]) -> ir.Table:
    names: EventColumns = EVENTS[name]
    mapped = [t.codes for t in targets if by_event(t) and t.codes.table == name]
    concepts = sorted({c for source in mapped for c in source.concepts})
    codes = sorted({c for source in mapped for c in source.codes})
    standard, source = rows[names.concept], rows[names.source_concept]
    code = rows[names.source_value].cast("string")
    prefixes = ibis.literal(_concept(name, 0)[:-1]), ibis.literal(_code(name, ""))
    key = ibis.cases(  # the standard concept first, so that no row counts twice
        (standard.isin(concepts), prefixes[0] + standard.cast("string")),
        (source.isin(concepts), prefixes[0] + source.cast("string")),
        (code.isin(codes), prefixes[1] + code),
        else_=ibis.null("string"),
    )
    value = {
        "value": ibis.null("string"),
        "coded": ibis.null("string"),
        "said": ibis.null("string"),
        "unit": ibis.null("string"),
    }
    if names.text:
        units = sorted({u for source in mapped for u in source.units})
        named, concept = rows.unit_source_value.cast("string"), rows.unit_concept_id.cast("string")
        if any(source.convert for source in mapped):
            named = ibis.coalesce(named, concept)
        signs = [(rows.operator_concept_id == c, sign) for c, sign in OPERATORS.items()]
        number = rows.value_as_number.cast("string")
        value = {
            "value": ibis.cases(*signs, else_="").concat(number),
            "coded": rows.value_as_concept_id.cast("string"),
            "said": rows[names.text].cast("string"),
            "unit": concept.isin(units).ifelse(concept, named) if units else named,
        }
    moment = _seconds(rows[names.stamp], rows[names.date])
    return rows.select(id=rows.person_id, clock=moment, key=key, **value)


def _seconds(stamp: Any, date: Any = None) -> Any:
    """Whole seconds since 1970, UTC; midnight of the date where there is no stamp."""
    at = stamp.cast("timestamp")
    at = at if date is None else ibis.coalesce(at, date.cast("timestamp"))
    sane = at.between(ibis.timestamp(FIRST), ibis.timestamp(LAST))
    known = sane.ifelse(at, ibis.null("timestamp"))  # before any function that could fail
    return known.truncate("s").epoch_seconds().cast("float64")


def _labels(rows: ir.Table, name: str, targets: Sequence[Target]) -> dict[str, Any]:
    return {
        f"c{t.number}": rows[column].cast("string")
        for t in targets
        for table, _, column in [t.codes.column.partition(".")]
        if table == name
    }
