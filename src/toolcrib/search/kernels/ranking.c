/* The probabilities of a query and of its parts, put together: `ranked` in plain.py. */

#include "loops.h"

#include <stdlib.h>

typedef struct {
    Scored own; /* first: the sort key */
    int taken;
} Tool;

/* Adds probabilities to a hash table of tools with linear probing; `size` is a power of two, and at least half of the
   slots stay free, because at most `left` tools are added. */
static void add_shares(Tool *tools, Py_ssize_t size, Py_ssize_t *left, PyObject *numbers, PyObject *shares,
                       double weight) {
    Arrays arrays = {.count = 0};
    Py_ssize_t count, sharing;
    const int64_t *given = take(&arrays, numbers, 8, 0, &count);
    const double *own = take(&arrays, shares, 8, 0, &sharing);
    if (own && (sharing != count || count > *left)) own = refuse("as many shares as numbers were expected");
    if (own) *left -= count;
    for (Py_ssize_t at = 0; own && at < count; at++) {
        Py_ssize_t place = (Py_ssize_t)((uint64_t)given[at] * 0x9E3779B97F4A7C15u >> 32) & (size - 1);
        while (tools[place].taken && tools[place].own.number != given[at]) place = (place + 1) & (size - 1);
        tools[place].taken = 1;
        tools[place].own.number = given[at];
        tools[place].own.score += own[at] * weight;
    }
    give_back(&arrays);
}

static PyObject *pair(const Tool *tool) {
    PyObject *number = PyLong_FromLongLong(tool->own.number), *share = PyFloat_FromDouble(tool->own.score);
    PyObject *both = number && share ? PyTuple_Pack(2, number, share) : NULL;
    Py_XDECREF(number);
    Py_XDECREF(share);
    return both;
}

/* ranked(numbers, shares, weights, order, deepest) -> numbers with their shares, best first */
PyObject *ranked(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    Py_ssize_t room = 0, size = 64, found = 0;
    Arrays arrays = {.count = 0};
    if (count != 5) return refuse("five arguments were expected");
    const Py_ssize_t lists = PyList_Size(args[0]), deepest = PyLong_AsSsize_t(args[4]);
    if (PyList_Size(args[1]) != lists || PyList_Size(args[2]) != lists) refuse("as many lists of each were expected");
    for (Py_ssize_t at = 0; at < lists && !PyErr_Occurred(); at++) room += PyObject_Size(PyList_GetItem(args[0], at));
    while (size < 2 * room) size *= 2;
    if (PyErr_Occurred()) return NULL;
    Tool *tools = PyMem_Calloc(size, sizeof *tools);
    if (!tools) return PyErr_NoMemory();
    for (Py_ssize_t at = 0; at < lists && !PyErr_Occurred(); at++)
        add_shares(tools, size, &room, PyList_GetItem(args[0], at), PyList_GetItem(args[1], at),
                   PyFloat_AsDouble(PyList_GetItem(args[2], at)));
    int64_t most = -1;
    for (Py_ssize_t place = 0; place < size; place++)
        if (tools[place].taken) {
            most = tools[place].own.number > most ? tools[place].own.number : most;
            tools[found++] = tools[place];
        }
    const int64_t *order = take_order(&arrays, args[3], (Py_ssize_t)most + 1);
    for (Py_ssize_t at = 0; at < found && !PyErr_Occurred(); at++) {
        const int64_t number = tools[at].own.number;
        if (order && number < 0) refuse("a number is negative");
        else tools[at].own.place = order ? order[number] : number;
    }
    give_back(&arrays);
    qsort(tools, found, sizeof *tools, falling);
    const Py_ssize_t wanted = deepest < found ? deepest : found;
    PyObject *ranking = PyErr_Occurred() ? NULL : PyList_New(wanted > 0 ? wanted : 0);
    for (Py_ssize_t at = 0; ranking && at < wanted; at++) {
        PyObject *next = pair(&tools[at]);
        if (!next || PyList_SetItem(ranking, at, next) < 0) Py_CLEAR(ranking);
    }
    PyMem_Free(tools);
    return ranking;
}
