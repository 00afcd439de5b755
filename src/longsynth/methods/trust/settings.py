"""What release and model of `trust` share: line names and shares. The schema has its constants."""

from longsynth.sampling.auxiliary import GAP_SQUARES, GAPS, MASKS, STRATA, VALUES

SECOND, CONDITIONS, JOINT = "second", "conditions", "joint"

# Percent of ρ. The second moment has the most numbers and the least signal in each, so it gets
# most; the histogram is cheap to know well; a gap's spread needs little.
SHARES = {STRATA: 5, VALUES: 25, SECOND: 45, MASKS: 15, GAPS: 7, GAP_SQUARES: 3}
CONDITIONS_SHARE = 5  # taken from the second moment where the paper's own release of A is wanted
