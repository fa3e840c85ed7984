#!/usr/bin/python3
"""Draws what tests/bench:scale has measured: scale_chart.py FILE.json > FILE.svg. Both axes are logarithmic: on
the left a flat line is a cost that the size of the job does not change."""

import chart


def series_of(sizes, figure):
    names = list(sizes[0]["steps"])
    return [(n, [(s["members"], max(s["steps"][n][figure], 1e-3)) for s in sizes]) for n in names]


def panels_of(measured):
    sizes = sorted(measured["sizes"], key=lambda size: size["members"])
    cpu, wall = series_of(sizes, "daemon_cpu_us_per_member"), series_of(sizes, "wall_ms")
    return [
        chart.Panel(0, "daemon: microseconds of CPU for each member", cpu, "members"),
        chart.Panel(chart.WIDTH, "milliseconds until all members are through", wall, "members"),
    ]


if __name__ == "__main__":
    chart.run(__doc__, panels_of)
