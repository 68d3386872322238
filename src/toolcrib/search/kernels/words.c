/* The tools that have the words of a query, and which of its words each has: `highest_by_words` and `matched_words` in
   plain.py. A posting is the number of a tool above 8 bits of how often it has the term. */

#include "loops.h"

#include <stdlib.h>

#define COUNT_BITS 8
#define COUNT ((1 << COUNT_BITS) - 1)

/* Adds the BM25 scores of one term; returns 0 for a number that no tool has. */
static int add_scores(const uint32_t *postings, Py_ssize_t count, double weight, const double *norms, Py_ssize_t tools,
                      double *scores) {
    for (Py_ssize_t at = 0; at < count; at++) {
        const Py_ssize_t number = postings[at] >> COUNT_BITS;
        const double counted = postings[at] & COUNT;
        if (number >= tools) return 0;
        scores[number] += weight * counted / (counted + norms[number]);
    }
    return 1;
}

/* A heap whose first is the last of those that are kept: moves the first down to its place. */
static void sink(Scored *heap, Py_ssize_t count) {
    for (Py_ssize_t at = 0, below; (below = 2 * at + 1) < count; at = below) {
        if (below + 1 < count && falling(&heap[below + 1], &heap[below]) > 0) below++;
        if (falling(&heap[at], &heap[below]) > 0) return;
        const Scored lower = heap[at];
        heap[at] = heap[below];
        heap[below] = lower;
    }
}

static void rise(Scored *heap, Py_ssize_t at) {
    for (Py_ssize_t above; at && falling(&heap[at], &heap[above = (at - 1) / 2]) > 0; at = above) {
        const Scored upper = heap[above];
        heap[above] = heap[at];
        heap[at] = upper;
    }
}

/* The highest scores above 0, best first; returns how many there are. */
static Py_ssize_t keep_highest(const double *scores, Py_ssize_t tools, const int64_t *order, Scored *kept,
                               Py_ssize_t limit) {
    Py_ssize_t found = 0;
    for (Py_ssize_t number = 0; number < tools; number++) {
        if (!(scores[number] > 0) || (found == limit && scores[number] < kept[0].score)) continue;
        const Scored next = {scores[number], order ? order[number] : number, number};
        if (found < limit) {
            kept[found] = next;
            rise(kept, found++);
        } else if (falling(&next, &kept[0]) < 0) {
            kept[0] = next;
            sink(kept, found);
        }
    }
    qsort(kept, found, sizeof *kept, falling);
    return found;
}

static PyObject *numbers_and_scores(const Scored *kept, Py_ssize_t found) {
    PyObject *numbers = PyTuple_New(found), *scores = PyTuple_New(found);
    for (Py_ssize_t at = 0; numbers && scores && at < found; at++) {
        PyTuple_SetItem(numbers, at, PyLong_FromLongLong(kept[at].number));
        PyTuple_SetItem(scores, at, PyFloat_FromDouble(kept[at].score));
    }
    PyObject *both = numbers && scores && !PyErr_Occurred() ? PyTuple_Pack(2, numbers, scores) : NULL;
    Py_XDECREF(numbers);
    Py_XDECREF(scores);
    return both;
}

/* highest_by_words(postings, weights, norms, order, limit) -> the numbers of the tools, and their scores */
PyObject *highest_by_words(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    Arrays arrays = {.count = 0};
    Py_ssize_t tools;
    if (count != 5) return refuse("five arguments were expected");
    const Py_ssize_t terms = PyList_Size(args[0]), limit = PyLong_AsSsize_t(args[4]);
    if (terms >= 0 && PyList_Size(args[1]) != terms) refuse("as many weights as postings were expected");
    const double *norms = take(&arrays, args[2], 8, 0, &tools);
    const int64_t *order = norms ? take_order(&arrays, args[3], tools) : NULL;
    const Py_ssize_t room = limit < 0 ? 0 : limit < tools ? limit : tools;
    double *scores = PyErr_Occurred() ? NULL : PyMem_Calloc(tools + 1, sizeof *scores);
    Scored *kept = scores ? PyMem_Malloc((room + 1) * sizeof *kept) : NULL;
    for (Py_ssize_t term = 0; kept && term < terms && !PyErr_Occurred(); term++) {
        Arrays held = {.count = 0};
        Py_ssize_t holders;
        const uint32_t *postings = take(&held, PyList_GetItem(args[0], term), 4, 0, &holders);
        const double weight = PyFloat_AsDouble(PyList_GetItem(args[1], term));
        if (postings && !PyErr_Occurred() && !add_scores(postings, holders, weight, norms, tools, scores))
            refuse("a posting is of no tool");
        give_back(&held);
    }
    PyObject *found = NULL;
    if (kept && !PyErr_Occurred()) found = numbers_and_scores(kept, room ? keep_highest(scores, tools, order, kept, room) : 0);
    if (!found && !PyErr_Occurred()) PyErr_NoMemory();
    PyMem_Free(kept);
    PyMem_Free(scores);
    give_back(&arrays);
    return found;
}

static int has(const uint32_t *postings, Py_ssize_t count, int64_t wanted) {
    while (count > 0) {
        const Py_ssize_t half = count / 2;
        const int64_t number = postings[half] >> COUNT_BITS;
        if (number == wanted) return 1;
        const int above = number < wanted;
        postings += above ? half + 1 : 0;
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
            const uint32_t *postings = take(&arrays, PyList_GetItem(holders, term), 4, 0, &count);
            held = postings && has(postings, count, number);
            give_back(&arrays);
            fine = postings != NULL;
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
