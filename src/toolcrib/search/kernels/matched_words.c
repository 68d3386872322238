/* Which tools have which words: `matched_words` in plain.py. */

#include "loops.h"

static int has(const uint32_t *ordered, Py_ssize_t count, int64_t wanted) {
    while (count > 0) {
        const Py_ssize_t half = count / 2;
        if (ordered[half] == wanted) return 1;
        const int above = ordered[half] < wanted;
        ordered += above ? half + 1 : 0;
        count = above ? count - half - 1 : half;
    }
    return 0;
}

/* Notes for each number that one of the arrays of a word has it. 0: an error. */
static int note(PyObject *found, PyObject *numbers, PyObject *holders, Py_ssize_t word) {
    const Py_ssize_t tools = PyList_Size(numbers), terms = PyList_Size(holders);
    PyObject *place = PyLong_FromSsize_t(word);
    int fine = place && tools >= 0 && terms >= 0;
    for (Py_ssize_t tool = 0; fine && tool < tools; tool++) {
        const int64_t number = PyLong_AsLongLong(PyList_GetItem(numbers, tool));
        int held = 0;
        for (Py_ssize_t term = 0; fine && !held && term < terms; term++) {
            Arrays arrays = {.count = 0};
            Py_ssize_t count;
            const uint32_t *ordered = take(&arrays, PyList_GetItem(holders, term), 4, 0, &count);
            held = ordered && has(ordered, count, number);
            give_back(&arrays);
            fine = ordered != NULL;
        }
        if (held) fine = PyList_Append(PyList_GetItem(found, tool), place) == 0;
    }
    Py_XDECREF(place);
    return fine && !PyErr_Occurred();
}

/* matched_words(numbers, holders of each word) -> for each number the places of the words that it has */
PyObject *matched_words(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 2) return refuse("two arguments were expected");
    const Py_ssize_t tools = PyList_Size(args[0]), words = PyList_Size(args[1]);
    PyObject *found = tools >= 0 && words >= 0 ? PyList_New(tools) : NULL;
    int fine = found != NULL;
    for (Py_ssize_t tool = 0; fine && tool < tools; tool++) {
        PyObject *own = PyList_New(0);
        fine = own && PyList_SetItem(found, tool, own) == 0;
    }
    for (Py_ssize_t word = 0; fine && word < words; word++)
        fine = note(found, args[0], PyList_GetItem(args[1], word), word);
    if (!fine) Py_CLEAR(found);
    return found;
}
