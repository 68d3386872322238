// A libFuzzer program with Python in it: each input goes to `try_one` of fuzz_kernels.py.
// FUZZ_PYTHON is the interpreter whose packages are used, FUZZ_KERNELS the build of the kernels that is tried.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>

static PyObject *try_one;

static void fail(void) {
    PyErr_Print();
    abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    PyConfig config;
    PyConfig_InitPythonConfig(&config);
    config.install_signal_handlers = 0;
    PyConfig_SetBytesString(&config, &config.program_name, getenv("FUZZ_PYTHON"));
    if (PyStatus_Exception(Py_InitializeFromConfig(&config)))
        abort();
    PyConfig_Clear(&config);
    PyObject *module = PyImport_ImportModule("tests.search.fuzz_kernels");
    if (module == NULL)
        fail();
    try_one = PyObject_CallMethod(module, "tried", "s", getenv("FUZZ_KERNELS"));
    if (try_one == NULL)
        fail();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    PyObject *result = PyObject_CallFunction(try_one, "y#", (const char *)data, (Py_ssize_t)size);
    if (result == NULL)
        fail();
    Py_DECREF(result);
    return 0;
}
