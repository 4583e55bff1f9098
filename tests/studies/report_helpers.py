"""Journals of trials that never ran: a few records with numbers that are easy to check."""

from bers_studies.runner.journal import write_journal

GENERATIONS = [*range(1, 13), *range(16, 101, 4)]
"""Those at which studies record weights."""


def write_trials(folder, trials, failed=()):
    """One journal per list of records, with seeds from 0 on; then the failed ones."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, records in enumerate(trials):
        write_journal(folder / f"trial-{seed:04d}.jsonl", {"seed": seed}, records)
    for seed, records in enumerate(failed, start=len(trials)):
        path = folder / f"trial-{seed:04d}.jsonl"
        write_journal(path, {"seed": seed}, records, traceback="ValueError: no")
    return folder


def record(best, evaluations=None, threshold="1.0", weights=None, at=GENERATIONS, **about):
    """One run; `best` is its curve or its last value, `weights` constant or a function."""
    curve = [16.0, best] if isinstance(best, float) else best
    found = {**about, "best": curve, "evaluations_to": dict.fromkeys(("1.0", "0.1", "0.01"))}
    found["evaluations_to"][threshold] = evaluations
    if weights is not None:
        rows = [weights(g) if callable(weights) else weights for g in at]
        found |= {"weights_at": list(at), "weights": rows, "used": [0] * len(at)}
    return found


def png_size(path):
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
