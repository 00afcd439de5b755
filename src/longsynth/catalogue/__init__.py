"""Public facts about common clinical variables."""
