#!/usr/bin/python3
"""Draws the barriers that tests/bench:control_plane has measured: barrier_chart.py FILE.json > FILE.svg. Both
axes are logarithmic. Measure with several sizes of the job, as --ranks 2 8 32 64."""

import statistics

import chart

NAMES = {
    "muster": "Muster",
    "muster_by_daemon": "Muster, by musterd",
    "muster_apart": "Muster, no fan-in",
    "bare": "bare gRPC",
    "tcpstore": "TCPStore",
    "tcpstore_keys": "TCPStore, keys",
    "jax": "JAX",
}


def processor_time(samples):
    return statistics.median(samples["client_cpu_us"]) + statistics.median(samples["service_cpu_us"])


def wall_time(samples):
    return statistics.median(samples["wall_us"])


def series_of(comparisons, figure):
    """Returns (name, [(ranks, value)]) of each side that was measured, in the order of NAMES."""
    return [
        (name, [(c["ranks"], max(figure(c["sides"][side]), 1e-3)) for c in comparisons])
        for side, name in NAMES.items()
        if all(side in c["sides"] for c in comparisons)
    ]


def panels_of(measured):
    barriers = [c for c in measured["comparisons"] if c["operation"] == "barrier"]
    barriers.sort(key=lambda comparison: comparison["ranks"])
    wall, cpu = series_of(barriers, wall_time), series_of(barriers, processor_time)
    return [
        chart.Panel(0, "a barrier: microseconds", wall, "ranks"),
        chart.Panel(chart.WIDTH, "its microseconds of CPU for each rank, with the service", cpu, "ranks"),
    ]


if __name__ == "__main__":
    chart.run(__doc__, panels_of)
