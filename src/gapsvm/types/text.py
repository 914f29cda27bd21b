"""What a parser of svmlight rows says of the token it stopped at."""

from __future__ import annotations

DONE, LABEL, QID, INDEX, VALUE, ORDER, BELOW_BASE, ABOVE_LIMIT = range(8)
NO_QID = -1
"""The qid of a row that has none."""
