/* The loops of a search that numpy needs a dozen calls for: plain.py is their specification. */

#include "loops.h"

void *take(Arrays *arrays, PyObject *array, Py_ssize_t size, int writable, Py_ssize_t *count) {
    Py_buffer *view = &arrays->held[arrays->count];
    if (PyErr_Occurred()) return NULL;
    if (PyObject_GetBuffer(array, view, PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0)) < 0) return NULL;
    arrays->count++;
    if (view->itemsize != size) return refuse("an array of another type was expected");
    if (count) *count = view->len / size;
    return view->buf;
}

void give_back(Arrays *arrays) {
    while (arrays->count) PyBuffer_Release(&arrays->held[--arrays->count]);
}

void *refuse(const char *message) {
    PyErr_SetString(PyExc_ValueError, message);
    return NULL;
}

const int64_t *take_order(Arrays *arrays, PyObject *order, Py_ssize_t least) {
    Py_ssize_t count;
    if (order == Py_None) return NULL;
    const int64_t *places = take(arrays, order, 8, 0, &count);
    return places && count < least ? refuse("the order has too few places") : places;
}

int falling(const void *one, const void *other) {
    const Scored *a = one, *b = other;
    if (a->score != b->score) return a->score < b->score ? 1 : -1;
    return (a->place > b->place) - (a->place < b->place);
}

#define NAMED(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}

static PyMethodDef loops[] = {
    NAMED(add_features),     NAMED(known_share),   NAMED(known_positions), NAMED(deletion_matches), NAMED(add_words),
    NAMED(highest_by_words), NAMED(matched_words), NAMED(scores),          NAMED(nearest),          NAMED(collect_candidates),
    NAMED(network),          NAMED(probabilities), NAMED(ranked),          {NULL, NULL, 0, NULL},
};

static int prepare(PyObject *module) {
    (void)module;
    prepare_features();
    prepare_vectors();
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)prepare}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_loops", "See toolcrib.search.kernels.", 0, loops, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__loops(void) { return PyModuleDef_Init(&definition); }
