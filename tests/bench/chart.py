"""Diagrams with logarithmic axes, as SVG, for what the benchmarks have measured."""

import html
import json
import math
import sys

WIDTH, HEIGHT = 460, 330  # of a panel
COLUMNS = 3  # of the legend
LEFT, RIGHT, TOP, BOTTOM = 62, 30, 40, 46
COLOURS = ["#3366cc", "#dc3912", "#109618", "#ff9900", "#990099", "#0099c6", "#666666", "#66aa00"]


def text(x, y, content, anchor="middle", size=12):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">'
        f"{html.escape(content)}</text>"
    )


def line(x1, y1, x2, y2, colour="#dddddd"):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


class Panel:
    """One diagram: `series` has (name, [(members, value)]). `unit` says what is counted: "members"."""

    def __init__(self, left, title, series, unit):
        self.left, self.title, self.series, self.unit = left, title, series, unit
        members = [m for _, points in series for m, _ in points]
        values = [v for _, points in series for _, v in points]
        self.members = sorted(set(members))
        self.low = 10 ** math.floor(math.log10(min(values)))
        self.high = 10 ** math.ceil(math.log10(max(values) * 1.001))

    def x(self, members):
        low, high = math.log(self.members[0]), math.log(self.members[-1])
        share = (math.log(members) - low) / (high - low) if high > low else 0.5
        return self.left + LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    def axes(self):
        yield text(self.left + WIDTH / 2, 20, self.title, size=14)
        for members in self.members:
            yield line(self.x(members), TOP, self.x(members), HEIGHT - BOTTOM)
            yield text(self.x(members), HEIGHT - BOTTOM + 18, f"{members:,}")
        value = self.low
        while value <= self.high * 1.001:
            yield line(self.left + LEFT, self.y(value), self.left + WIDTH - RIGHT, self.y(value))
            yield text(self.left + LEFT - 6, self.y(value) + 4, f"{value:,.10g}", anchor="end")
            value *= 10
        yield text(self.left + WIDTH / 2, HEIGHT - 10, self.unit)

    def draw(self):
        yield from self.axes()
        for number, (_, points) in enumerate(self.series):
            colour = COLOURS[number % len(COLOURS)]
            places = [(self.x(m), self.y(v)) for m, v in points]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
            yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places)


def legend(names):
    for number, name in enumerate(names):
        x = LEFT + (number % COLUMNS) * 300
        y = HEIGHT + 16 + (number // COLUMNS) * 20
        colour = COLOURS[number % len(COLOURS)]
        yield f'<rect x="{x}" y="{y - 10}" width="14" height="10" fill="{colour}"/>'
        yield text(x + 20, y, name, anchor="start")


def draw(panels):
    """Returns the picture's lines. The panels stand side by side, and have series of the same names."""
    names = [name for name, _ in panels[0].series]
    width, height = len(panels) * WIDTH, HEIGHT + 30 + 20 * math.ceil(len(names) / COLUMNS)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" fill="#222222">'
    )
    yield f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    for panel in panels:
        yield from panel.draw()
    yield from legend(names)
    yield "</svg>"


def run(usage, panels_of):
    """The program of a diagram: prints what panels_of() makes of the JSON in the file that is its argument."""
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(usage)
    with open(sys.argv[1]) as file:
        print("\n".join(draw(panels_of(json.load(file)))))
