"""Real against synthetic: utility, fidelity, subgroups, attacks. All of it stays internal."""
