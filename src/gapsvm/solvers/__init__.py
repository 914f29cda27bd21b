"""Solvers: frozen dataclasses of hyper-parameters behind one protocol, run by one loop."""
