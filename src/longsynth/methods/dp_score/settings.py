"""What release and model of `dp-score` share: line names and shares."""

from longsynth.sampling.auxiliary import GAP_SQUARES, GAPS, MASKS, STRATA, VALUES

SQUARES = "squares"
SHARES = {STRATA: 5, VALUES: 40, SQUARES: 30, MASKS: 15, GAPS: 7, GAP_SQUARES: 3}  # percent of ρ
