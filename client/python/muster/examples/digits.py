"""Trains a classifier of handwritten digits, data-parallel, on all ranks of a job: examples/digits in Python.

    python3 -m muster.examples.digits                                        # one process
    muster run --nproc-per-node 4 -- python3 -m muster.examples.digits       # four ranks, with the same loss

The result equals the C++ program's, up to rounding. Python and C++ ranks may be in one job, since both programs make
the same calls with the same values. Without numpy, the program does the arithmetic itself. In an elastic job it goes on
after the loss of a rank. Read main() first.
"""

import argparse
import array
import contextlib
import gzip
import json
import math
import operator
import os
import shutil
import sys
import tempfile
import time
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import muster
from muster.encodings import FLOAT64, STRING, struct_of, vector_of
from muster.examples import _random

numpy: Any = None
with contextlib.suppress(ImportError):
    import numpy

PIXELS, CLASSES, MAX_INTENSITY, HELD_OUT_ONE_IN, SPLIT_SEED = 64, 10, 16, 5, 1998
PER_CLASS = PIXELS + 1  # the weights of a class, then its bias
PARAMETERS = CLASSES * PER_CLASS

# The values that C++ ranks pass: std::vector<double>, and two plain structs.
WEIGHTS = vector_of(FLOAT64)
SCORE = struct_of("dqqq")  # loss, training images, correct, held-out images
REPORT = struct_of("qddddd")  # epoch, loss, accuracy, images a second, lowest and highest loss of a rank


class Image(NamedTuple):
    """Pixels from 0 to 1, and the digit."""

    pixels: List[float]
    label: int


class Dataset(NamedTuple):
    """The images for training, and the images that are held out to measure it."""

    training: List[Image]
    held_out: List[Image]


# ---- The data.


def default_data_file() -> str:
    """Returns the file that comes with the wheel, else the file of the source tree."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.csv.gz")
    return beside if os.path.exists(beside) else "examples/digits/data/digits.csv.gz"


@contextlib.contextmanager
def unpacked(job: muster.Job, file: str) -> Iterator[str]:
    """Yields the path of the CSV file. The first rank of each node unpacks it, and the others wait. A completed lease
    stays completed, but the folder does not stay. So the epoch is in the lease's name."""
    folder = None
    try:
        with job.once_per_node(f"unpack digits for epoch {job.epoch}", encoding=STRING) as work:
            if work.held and file.endswith(".gz"):
                folder = tempfile.mkdtemp()
                path = os.path.join(folder, "digits.csv")
                with gzip.open(file, "rb") as packed, open(path, "wb") as plain:
                    shutil.copyfileobj(packed, plain)
                work.complete(path)
            elif work.held:
                work.complete(file)
        yield work.result
    finally:
        if folder is not None:
            shutil.rmtree(folder)


def read_images(path: str, name: str) -> List[Image]:
    """Reads lines of 64 pixels and a label. ValueError names the first malformed line."""
    images = []
    with open(path, encoding="ascii") as lines:
        for number, line in enumerate(lines, 1):
            values = [int(value) for value in line.split(",")]
            if len(values) != PIXELS + 1:
                raise ValueError(f"{name}:{number}: {len(values)} values, expected {PIXELS + 1}: {PIXELS} pixels and a label")
            images.append(Image([value / MAX_INTENSITY for value in values[:PIXELS]], values[PIXELS]))
    return images


def load(job: muster.Job, file: str) -> Dataset:
    """Loads the data set. A collective: if it fails on any rank, every rank raises the same error."""
    error, images = "", []
    try:
        with unpacked(job, file) as path:
            try:
                images = read_images(path, file)
            except (OSError, ValueError) as wrong:
                error = str(wrong)
            # When this returns, all ranks have read the file, so its folder may go.
            errors = job.all_gather(error, encoding=STRING)
    except (OSError, muster.UnknownError, muster.NotFoundError) as wrong:  # it could not be unpacked
        errors = job.all_gather(str(wrong), encoding=STRING)
    distinct = sorted(set(errors) - {""})
    if distinct:
        raise muster.FailedPreconditionError("\n".join(distinct))
    _random.shuffle(images, _random.Mt19937_64(SPLIT_SEED))
    held_out = len(images) // HELD_OUT_ONE_IN
    return Dataset(images[held_out:], images[:held_out])


def share(items: Sequence[Any], rank: int, world_size: int) -> Sequence[Any]:
    """Returns a rank's part. Parts are disjoint, cover `items`, and differ in size by at most one."""
    return items[len(items) * rank // world_size:len(items) * (rank + 1) // world_size]


def epoch_order(count: int, seed: int, epoch: int) -> List[int]:
    """Returns the indices of the images in this epoch's random order, the same on every rank and for every world
    size."""
    order = list(range(count))
    _random.shuffle(order, _random.from_seed_seq([seed & 0xFFFFFFFF, seed >> 32, epoch]))
    return order


# ---- The model: softmax regression. Both classes keep the parameters of all classes in one array.


class PlainModel:
    """The model without numpy."""

    def __init__(self, parameters: Sequence[float]) -> None:
        self.parameters = array.array("d", parameters)

    def _scores(self, image: Image) -> List[float]:
        rows = self.parameters
        return [sum(map(operator.mul, image.pixels, rows[k:k + PIXELS]), rows[k + PIXELS])
                for k in range(0, PARAMETERS, PER_CLASS)]

    def _normalized(self, image: Image) -> Tuple[List[float], float]:
        scores = self._scores(image)
        largest = max(scores)
        return scores, largest + math.log(sum(math.exp(score - largest) for score in scores))

    def gradient(self, images: Sequence[Image]) -> Any:
        """Returns the sum of the gradients of the images' losses."""
        total = [[0.0] * PER_CLASS for _ in range(CLASSES)]
        for image in images:
            scores, normalizer = self._normalized(image)
            for k, row in enumerate(total):
                error = math.exp(scores[k] - normalizer) - (k == image.label)
                row[:PIXELS] = [one + error * pixel for one, pixel in zip(row, image.pixels)]
                row[PIXELS] += error
        return array.array("d", [value for row in total for value in row])

    def step(self, gradient: Any, size: float) -> None:
        """Moves the parameters down the gradient."""
        self.parameters = array.array("d", [one - size * slope for one, slope in zip(self.parameters, gradient)])

    def loss(self, images: Sequence[Image]) -> float:
        """Returns the sum of the losses."""
        pairs = ((self._normalized(image), image.label) for image in images)
        return sum(normalizer - scores[label] for (scores, normalizer), label in pairs)

    def correct(self, images: Sequence[Image]) -> int:
        """Returns the number of recognized digits."""
        pairs = ((self._scores(image), image.label) for image in images)
        return sum(scores.index(max(scores)) == label for scores, label in pairs)


class NumpyModel:
    """The model with numpy."""

    def __init__(self, parameters: Sequence[float]) -> None:
        self.parameters = numpy.array(parameters, dtype=numpy.float64)

    @staticmethod
    def _arrays(images: Sequence[Image]) -> Tuple[Any, Any]:
        pixels = numpy.array([[*image.pixels, 1.0] for image in images]).reshape(-1, PER_CLASS)
        return pixels, numpy.array([image.label for image in images], dtype=int)

    def _scores(self, pixels: Any) -> Any:
        return pixels @ self.parameters.reshape(CLASSES, PER_CLASS).T

    def _normalized(self, images: Sequence[Image]) -> Tuple[Any, Any, Any, Any]:
        pixels, labels = self._arrays(images)
        scores = self._scores(pixels)
        largest = scores.max(axis=1)
        return pixels, labels, scores, largest + numpy.log(numpy.exp(scores - largest[:, None]).sum(axis=1))

    def gradient(self, images: Sequence[Image]) -> Any:
        """See PlainModel."""
        if not images:
            return numpy.zeros(PARAMETERS)
        pixels, labels, scores, normalizers = self._normalized(images)
        errors = numpy.exp(scores - normalizers[:, None])
        errors[numpy.arange(len(labels)), labels] -= 1
        return numpy.ascontiguousarray(errors.T @ pixels).reshape(PARAMETERS)

    def step(self, gradient: Any, size: float) -> None:
        """See PlainModel."""
        self.parameters = self.parameters - size * gradient

    def loss(self, images: Sequence[Image]) -> float:
        """See PlainModel."""
        if not images:
            return 0.0
        _, labels, scores, normalizers = self._normalized(images)
        return float((normalizers - scores[numpy.arange(len(labels)), labels]).sum())

    def correct(self, images: Sequence[Image]) -> int:
        """See PlainModel."""
        if not images:
            return 0
        pixels, labels = self._arrays(images)
        return int((self._scores(pixels).argmax(axis=1) == labels).sum())


def initial_parameters(seed: int) -> List[float]:
    """Returns small random weights, and biases of zero."""
    parameters = _random.normal(_random.Mt19937_64(seed), PARAMETERS, 0.01)
    for k in range(CLASSES):
        parameters[k * PER_CLASS + PIXELS] = 0.0
    return parameters


# ---- Training.


class Progress:
    """The state of training: all that a rank needs to go on, and the same on every rank."""

    def __init__(self) -> None:
        self.parameters: List[float] = []
        self.curve: List[Tuple[Any, ...]] = []


def share_progress(job: muster.Job, seed: int, progress: Progress) -> None:
    """Gives every rank the state of rank 0, which draws the initial weights. In a later epoch of the job, rank 0 is a
    survivor and has them."""
    if job.is_main and not progress.parameters:
        progress.parameters = initial_parameters(seed)
    progress.parameters = job.broadcast(progress.parameters, encoding=WEIGHTS)
    progress.curve = job.broadcast(progress.curve, encoding=vector_of(REPORT))


def summarize(epoch: int, scores: Sequence[Tuple[Any, ...]], images_per_second: float) -> Tuple[Any, ...]:
    """Returns the report of all ranks' scores."""
    means = [loss / training for loss, training, _, _ in scores if training > 0]
    loss = sum(score[0] for score in scores) / sum(score[1] for score in scores)
    accuracy = sum(score[2] for score in scores) / sum(score[3] for score in scores)
    return epoch, loss, accuracy, images_per_second, min(means), max(means)


def train(job: muster.Job, ranks: muster.Communicator, data: Dataset, flags: argparse.Namespace, progress: Progress) -> None:
    """Trains from rank 0's state to the last epoch. Each rank computes the gradient of its share of every batch, and
    all ranks apply the sum."""
    share_progress(job, flags.seed, progress)
    for epoch in range(len(progress.curve) + 1, flags.epochs + 1):
        # If one rank enters the next epoch of the job, all others must follow.
        if job.is_main and job.newcomers_waiting > 0:
            raise muster.AbortedError("newcomers wait for a place")
        job.barrier(f"epoch {epoch}")
        model: Any = (PlainModel if numpy is None else NumpyModel)(progress.parameters)
        start = time.monotonic()
        order = epoch_order(len(data.training), flags.seed, epoch)
        for begin in range(0, len(order), flags.batch):
            batch = order[begin:begin + flags.batch]
            mine = share(batch, job.rank, job.world_size)
            # A sum divided by the global count, not an average of averages, since shares differ in
            # size.
            gradient = ranks.all_reduce(model.gradient([data.training[index] for index in mine]))
            model.step(gradient, flags.lr / len(batch))
        speed = len(data.training) / (time.monotonic() - start)
        training, held_out = (share(images, job.rank, job.world_size) for images in data)
        mine = (model.loss(training), len(training), model.correct(held_out), len(held_out))
        report = summarize(epoch, job.all_gather(mine, encoding=SCORE), speed)
        progress.parameters = list(model.parameters)
        progress.curve.append(report)
        if job.is_main:
            spread = "" if report[4] == report[5] else f" (by rank {report[4]:.4f} to {report[5]:.4f})"
            print(f"epoch {epoch:3}  loss {report[1]:.6f}{spread}  held-out accuracy {report[2]:.4f}  {speed:.0f} images/s",
                  flush=True)


def write_files(job: muster.Job, flags: argparse.Namespace, progress: Progress) -> bytes:
    """Writes the files of --json and --save."""
    if flags.json:
        names = ("epoch", "loss", "accuracy", "images_per_second")
        curve: Dict[str, Any] = {"world_size": job.world_size, "seed": flags.seed, "batch": flags.batch,
                                 "learning_rate": flags.lr,
                                 "epochs": [dict(zip(names, report)) for report in progress.curve]}
        with open(flags.json, "w", encoding="ascii") as file:
            file.write(json.dumps(curve, indent=2) + "\n")
    if flags.save:
        with open(flags.save, "w", encoding="ascii") as file:
            for k in range(0, PARAMETERS, PER_CLASS):
                file.write(",".join(f"{value:.17g}" for value in progress.parameters[k:k + PER_CLASS]) + "\n")
    return b""


def work(job: muster.Job, flags: argparse.Namespace, progress: Progress) -> None:
    """Does everything, from rank 0's state on."""
    data = load(job, flags.data)
    with job.communicator(backend=flags.backend) as ranks:
        if job.is_main:
            print(f"job '{job.id}': world size {job.world_size}, {job.num_nodes} node(s), data plane {ranks.backend}")
            for member in job.members:
                print(f"rank {member.rank}: node {member.node_id}, local rank {member.local_rank}, process {member.pid} on "
                      f"{member.hostname}")
            print(f"{len(data.training)} images to train on, {len(data.held_out)} held out", flush=True)
        train(job, ranks, data, flags, progress)
    job.run_on_main(lambda: write_files(job, flags, progress), encoding="bytes")
    if job.is_main:
        print("final loss=%#.12g accuracy=%#.12g" % progress.curve[-1][1:3], flush=True)


def parse(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    """Parses the flags, which are the C++ program's."""
    parser = argparse.ArgumentParser(
        prog="digits", description="Learns to read handwritten digits: softmax regression, trained by all ranks of a job "
        "together.", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--epochs", type=int, default=40, help="passes over the training images")
    parser.add_argument("--seed", type=int, default=1, help="of the initial weights and the order of the images")
    parser.add_argument("--batch", type=int, default=256, help="images of one step, all ranks together")
    parser.add_argument("--lr", type=float, default=1.5, help="learning rate")
    parser.add_argument("--data", default=default_data_file(), help="CSV file, or .csv.gz; every node needs it")
    parser.add_argument("--backend", help="data plane: gloo")
    parser.add_argument("--json", help="rank 0 writes the curve to this file")
    parser.add_argument("--save", help="rank 0 writes the weights to this file")
    return parser.parse_args(arguments)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Joins, trains, and leaves. In an elastic job, goes on after a loss, and takes in newcomers."""
    flags, progress = parse(arguments), Progress()
    with muster.join() as job:
        while True:
            try:
                work(job, flags, progress)
                return 0
            except muster.FailedPreconditionError as error:  # every rank has raised it: all leave together
                if job.is_main:
                    print(f"digits: {error}", file=sys.stderr)
                job.leave()
                return 1
            except (muster.AbortedError, muster.UnavailableError) as error:
                try:
                    job.rejoin()
                except muster.FailedPreconditionError:  # not elastic, or too few ranks are left
                    raise error from None


if __name__ == "__main__":
    sys.exit(main())
