"""Portrait: what a cohort looks like, in a few hundred numbers. Of synthetic patients it is public,
of real ones it stays internal; two portraits of one schema can be laid over each other."""

from longsynth.portrait.portrait import Patients, portrait

__all__ = ["Patients", "portrait"]
