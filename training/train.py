"""Train the table and write the model.

python -m training.train --out OUT                      from the start, on a GPU
python -m training.train --out OUT --without-requests   sees no request of the English sets: how well it does on
                                                        catalogs it never met, and what fusion is fitted with
python -m training.train --out OUT --start MODEL        the second stage alone, from a model (a CPU does it, too): it
                                                        keeps its rows, new ones begin at zero
"""

import argparse
import json
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from training.encode import choose_features, encode
from training.lessons import Lessons, Recipe
from training.material import REQUEST_SETS_ENGLISH, Material, gather
from training.measure import measure
from training.quantize import dequantize, export, quantize, unpack
from training.table import Table
from training.teacher import Teacher

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TEXTS_AT_ONCE = 20_000


def train(table: Table, lessons: Lessons, recipe: Recipe) -> None:
    """All steps of the recipe."""
    for step in range(recipe.steps):
        progress = step / recipe.steps
        table.rounded = progress >= 1 - recipe.rounded
        taken = [(weight, lesson, next(lesson)) for weight, lesson in lessons.at(progress)]
        vectors, read = table.lesson(torch.cat([texts for _, _, texts in taken]), recipe.drop)
        own = vectors.split([len(texts) for _, _, texts in taken])
        loss: Any = sum(weight * lesson.send(mine) for (weight, lesson, _), mine in zip(taken, own, strict=True))
        loss.backward()
        table.learn(read, recipe.rate * min(1, step / 200) * (1 - progress) + 1e-5)
        if step % 250 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
    table.rounded = False


def read_start(folder: Path, chosen: np.ndarray) -> torch.Tensor:
    """The rows that a model has for these features; zero for those it does not have."""
    features = np.load(folder / "features.npy")
    held = dequantize(unpack(np.load(folder / "levels.npy")), np.load(folder / "scales.npy"))
    at = np.searchsorted(features, chosen).clip(max=len(features) - 1)
    return torch.tensor(held[at] * (features[at] == chosen)[:, None])


@torch.no_grad()
def own_vectors(table: Table, material: Material, english: list[int]) -> torch.Tensor:
    """What the table itself makes of each English text, by the number of the text."""
    texts = torch.tensor(english, device=DEVICE)
    return by_number(torch.cat([table(some).half() for some in texts.split(TEXTS_AT_ONCE)]), material, english)


def taught_vectors(material: Material, english: list[int]) -> torch.Tensor:
    """The teacher's vector of each English text, by the number of the text."""
    teacher = Teacher(Path("training/work/pack"), DEVICE)
    return by_number(teacher.embed([material.texts[number] for number in english]), material, english)


def by_number(vectors: torch.Tensor, material: Material, english: list[int]) -> torch.Tensor:
    placed = torch.zeros(len(material.texts), vectors.shape[1], dtype=torch.half, device=DEVICE)
    placed[torch.tensor(english, device=DEVICE)] = vectors
    return placed


def arguments_of_run() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--without-requests", action="store_true")
    parser.add_argument("--start", type=Path, help="the folder of a model to go on from")
    parser.add_argument("--splits", default="dev", help="what to measure on, comma separated")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change the recipe; may repeat; a,b tries several",
    )
    return parser.parse_args()


def recipes(changes: list[str]) -> dict[str, Recipe]:
    """The recipe with every combination of the changes, by a name each."""
    base = asdict(Recipe())
    variants: list[dict[str, float]] = [{}]
    for change in changes:
        name, _, values = change.partition("=")
        variants = [{**variant, name: type(base[name])(value)} for variant in variants for value in values.split(",")]
    return {
        "-".join(f"{key}{value}" for key, value in variant.items()) or "model": Recipe(**{**base, **variant})
        for variant in variants
    }


def main() -> None:
    arguments = arguments_of_run()
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.set_float32_matmul_precision("high")
    began = time.time()

    def log(text: str) -> None:
        print(f"[{time.time() - began:6.1f}] {text}", flush=True)

    material = gather(without=REQUEST_SETS_ENGLISH if arguments.without_requests else ())
    log(f"{len(material.texts)} texts, {sum(map(len, material.translations.values()))} translations")
    encoded = encode(material.texts, processes=os.cpu_count() or 1)
    log(f"{len(encoded.words)} words, {len(encoded.words.flat)} features")
    english = sorted(material.english)
    taught = None if arguments.start else taught_vectors(material, english)
    log(f"teacher done, {len(english)} texts")
    for label, recipe in recipes(arguments.set).items():
        torch.manual_seed(recipe.seed)
        held = np.load(arguments.start / "features.npy") if arguments.start else None
        chosen = choose_features(encoded, recipe.rows, material.by_language(), held=held)
        fresh = torch.randn(len(chosen), recipe.dimensions) * 0.05
        table = Table(encoded, chosen, read_start(arguments.start, chosen) if arguments.start else fresh, DEVICE)
        if taught is not None:
            train(table, Lessons(material, recipe, taught, english), recipe)
            table.turn()
            log(f"trained {label}")
        second = recipe.second_stage()
        train(table, Lessons(material, second, own_vectors(table, material, english), english), second)
        log(f"tuned {label}")
        learned = table.weight[: len(chosen)].cpu().numpy()
        table.weight[: len(chosen)] = torch.tensor(dequantize(*quantize(learned)), device=DEVICE)
        figures = measure(material, table, arguments.splits.split(","))
        export(arguments.out / label, chosen, learned)
        (arguments.out / label / "figures.json").write_text(json.dumps({"recipe": asdict(recipe), **figures}, indent=1))
        log(f"measured {label}")


if __name__ == "__main__":
    main()
