"""Whether an agent does as well with few tools in sight: our tasks, in each mode, on a model of your choice.

    python benchmarks/evals.py --model openai:gpt-5.4 [--modes direct,search] [--repeat 3] [--budget 5]

60 tasks on the reference CMS and 41 on the modules for files and memory (`benchmarks/tasks`), each in a world of its
own. Writes `results/eval-MODEL.md`; the runs with every transcript are in `eval-results/`. With `--resume` a stopped
run goes on. Without a model it takes the offline brain, which is no language model: its figures compare nothing but it.
"""

import argparse
import asyncio
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it also runs as a file

from benchmarks.tasks.worlds import Folder
from toolcrib.catalog import load_catalog
from toolcrib.evals import EvalOptions, load_tasks, report_of, run_eval
from toolcrib.evals.report import markdown_of, write_report
from toolcrib.settings import OFFLINE

HERE = Path(__file__).resolve().parents[1]
SUITES = {"cms": "benchmarks.tasks.worlds:cms", "modules": "benchmarks.tasks.worlds:Folder"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=OFFLINE)
    parser.add_argument("--modes", default="direct,compact,search,browse,domains")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--budget", type=float)
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    name = re.sub(r"[^A-Za-z0-9.]+", "-", options.model).strip("-")
    note = "It is no language model: these figures say what its rules can do. " if options.model == OFFLINE else ""
    parts = [
        f"# Evals with {options.model}\n\nWritten by `python benchmarks/evals.py --model {options.model}`. {note}"
        "Seconds are those of this machine, beside whatever else it did.\n"
    ]
    for suite, fixture in SUITES.items():
        world = Folder()
        catalog = load_catalog("toolcrib_cms:definitions") if suite == "cms" else world.catalog
        folder = HERE / "eval-results" / f"{suite}-{name}"
        run = asyncio.run(
            run_eval(
                load_tasks(HERE / "benchmarks" / "tasks" / f"{suite}.yaml"),
                catalog,
                model=options.model,
                folder=folder,
                options=EvalOptions(
                    modes=options.modes.split(","),
                    repeat=options.repeat,
                    fixture=fixture,
                    budget=options.budget,
                    resume=options.resume,
                ),
            )
        )
        world.close()
        report = report_of(run)
        write_report(report, run, folder)
        parts.append(markdown_of(report))
        print(f"{suite}: {folder / 'report.html'}", flush=True)
    target = HERE / "benchmarks" / "results" / f"eval-{name}.md"
    target.write_text("\n".join(parts), encoding="utf-8")
    print(target)


if __name__ == "__main__":
    main()
