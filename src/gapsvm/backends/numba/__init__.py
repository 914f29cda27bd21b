"""The compiled backend: every Numba kernel lives here."""
