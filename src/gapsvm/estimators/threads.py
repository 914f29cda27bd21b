"""How many threads a call may take."""

from __future__ import annotations

import multiprocessing
import os
import threading

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend

from gapsvm.system.cores import at_most_cores, usable_cores


def threads_to_predict(n_jobs: int | None) -> int:
    """``n_jobs`` where it, or a context of joblib's, says so; all cores otherwise.

    A worker of somebody else's loop takes its share of them alone: what joblib tells the processes
    that it starts (in ``OMP_NUM_THREADS``, which limits a process of the user's as well), and one
    core of a thread and of a process of a pool.
    """
    backend, of_context = get_active_backend()
    if n_jobs is not None or of_context is not None:
        return at_most_cores(int(effective_n_jobs(n_jobs)))
    limit = os.environ.get("OMP_NUM_THREADS", "")
    told = int(limit) if limit.isdecimal() and int(limit) > 0 else None
    if backend.nesting_level or multiprocessing.current_process().daemon:
        by_itself = threading.current_thread() is threading.main_thread()
        return at_most_cores(told or 1) if by_itself else 1
    return usable_cores() if told is None else at_most_cores(told)
