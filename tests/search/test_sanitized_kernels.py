"""The compiled kernels with sanitizers for memory and undefined behaviour: tested, and fuzzed by coverage."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support import ROOT
from toolcrib.search import kernels

pytestmark = [pytest.mark.chaos, pytest.mark.process, pytest.mark.skipif(sys.platform != "linux", reason="for Linux")]

SOURCES = Path(kernels.__file__).parent
PROGRAM = Path(__file__).with_name("fuzz_kernels.c")
CHECKS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer")
FUZZ_SECONDS = 60
# Python itself keeps memory until it ends, and a kernel has to be told when there is none left.
OPTIONS = {"ASAN_OPTIONS": "detect_leaks=0,allocator_may_return_null=1", "PYTHONMALLOC": "malloc"}
# Runs pytest with these kernels in place of the installed ones.
TEST_WITH = """
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
name, path, *arguments = "toolcrib.search.kernels._loops", *sys.argv[1:]
spec = spec_from_file_location(name, path, loader=ExtensionFileLoader(name, path))
sys.modules[name] = module_from_spec(spec)
spec.loader.exec_module(sys.modules[name])
import pytest
sys.exit(pytest.main(arguments))
"""


def build(compiler: str, folder: Path, *more: str) -> Path:
    built = folder / "_loops.abi3.so"
    flags = ("-g", "-O1", "-std=c11", "-fPIC", "-ffp-contract=off", "-shared", *CHECKS, *more)
    sources = map(str, sorted(SOURCES.glob("*.c")))
    headers = f"-I{sysconfig.get_path('include')}"
    subprocess.run([compiler, *flags, headers, *sources, "-o", str(built), "-lm"], check=True)
    return built


def library(compiler: str, name: str) -> str:
    asked = [compiler, f"-print-file-name={name}"]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_the_kernels_touch_no_memory_of_others(tmp_path: Path) -> None:
    built = build("gcc", tmp_path)
    preload = " ".join(library("gcc", f"lib{name}.so") for name in ("asan", "ubsan"))
    names = ("test_compiled", "test_dense", "test_candidates", "test_lexical", "test_history", "test_builtin_embedder")
    files = [str(Path(__file__).with_name(f"{name}.py")) for name in names]
    environment = {**os.environ, **OPTIONS, "LD_PRELOAD": preload}
    command = [sys.executable, "-c", TEST_WITH, str(built), "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *files]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-3_000:] + ended.stderr[-3_000:]


def test_nothing_that_is_nearly_right_ends_the_process(tmp_path: Path) -> None:
    compiler = next((name for name in ("clang", "clang-14", "clang-19") if shutil.which(name)), None)
    if compiler is None or not Path(library(compiler, "libclang_rt.fuzzer-x86_64.a")).is_absolute():
        pytest.skip("needs clang with libFuzzer (Debian: clang, libclang-rt-14-dev)")
    built = build(compiler, tmp_path, "-fsanitize=fuzzer-no-link")
    python = sysconfig.get_config_var("LIBDIR")
    if not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        pytest.skip("needs a Python that is a shared library")
    fuzzer = tmp_path / "fuzzer"
    flags = ("-g", "-O1", *CHECKS, "-fsanitize=fuzzer", "-rdynamic", f"-I{sysconfig.get_path('include')}")
    linked = (f"-L{python}", f"-Wl,-rpath,{python}", f"-lpython{sysconfig.get_python_version()}")
    subprocess.run([compiler, *flags, str(PROGRAM), "-o", str(fuzzer), *linked], check=True)
    (corpus := tmp_path / "corpus").mkdir()
    environment = {
        **os.environ,
        **OPTIONS,
        "PYTHONPATH": str(ROOT),
        "FUZZ_PYTHON": sys.executable,
        "FUZZ_KERNELS": str(built),
    }
    limits = (f"-max_total_time={FUZZ_SECONDS}", "-rss_limit_mb=4096", "-len_control=0", "-max_len=2000")
    ended = subprocess.run(
        [str(fuzzer), *limits, str(corpus)], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr[-3_000:]
    assert "Done " in ended.stderr
    assert len(list(corpus.iterdir())) > 100  # inputs that reached something new: the kernels were really run
