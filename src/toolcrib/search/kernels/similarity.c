/* Which tools are nearest to a query: `scores` and `nearest` in plain.py. */

#include "loops.h"

#include <math.h>
#include <stdlib.h>

#define BINS 4096
#define LARGEST 127

static int falling_float(const void *one, const void *other) {
    float a = *(const float *)one, b = *(const float *)other;
    return (a < b) - (a > b);
}

/* The histogram bin of a score; cosines are between -1 and 1. */
static int bin_of(float score) {
    if (!(score > -1)) return 0;
    return score < 1 ? (int)((score + 1) * (BINS / 2)) : BINS - 1;
}

/* The `wanted`-th highest score, with 1 <= wanted <= count. Only the scores in its bin are sorted. */
static float reached(const float *scores, Py_ssize_t count, Py_ssize_t wanted, float *space) {
    int counts[BINS] = {0}, bin = BINS - 1;
    Py_ssize_t held = 0;
    for (Py_ssize_t at = 0; at < count; at++) counts[bin_of(scores[at])]++;
    for (; counts[bin] < wanted; bin--) wanted -= counts[bin];
    for (Py_ssize_t at = 0; at < count; at++)
        if (bin_of(scores[at]) == bin) space[held++] = scores[at];
    qsort(space, held, sizeof *space, falling_float);
    return space[wanted - 1];
}

static inline int32_t dot(const int16_t *one, const int8_t *other, Py_ssize_t dimensions) {
    int32_t sum = 0;
    for (Py_ssize_t at = 0; at < dimensions; at++) sum += one[at] * (int16_t)other[at];
    return sum;
}

WIDE static void compare_all(const int16_t *query, float step, const int8_t *rows, const float *steps,
                             Py_ssize_t dimensions, Py_ssize_t count, float *scores) {
    for (Py_ssize_t row = 0; row < count; row++)
        scores[row] = (float)dot(query, rows + row * dimensions, dimensions) * steps[row] * step;
}

/* The highest score of some rows, at least `best`. */
WIDE static float highest(const int16_t *query, float step, const int8_t *rows, const float *steps,
                          Py_ssize_t dimensions, int64_t row, int64_t end, float best) {
    for (; row < end; row++) {
        float score = (float)dot(query, rows + row * dimensions, dimensions) * steps[row] * step;
        best = score > best ? score : best;
    }
    return best;
}

/* Quantizes a vector as rows.py does; returns the step. */
static float quantize(const float *vector, Py_ssize_t dimensions, int16_t *numbers) {
    float most = 0;
    for (Py_ssize_t at = 0; at < dimensions; at++) most = fabsf(vector[at]) > most ? fabsf(vector[at]) : most;
    float step = most > 0 ? most / LARGEST : 1;
    for (Py_ssize_t at = 0; at < dimensions; at++) {
        const float number = rintf(vector[at] / step);
        numbers[at] = fabsf(number) <= LARGEST ? (int16_t)number : 0; /* what is no number is near nothing */
    }
    return step;
}

/* scores(query, wholes, whole_steps, passages, passage_steps, starts, ends, alive, count, whole, gone, scores) */
PyObject *scores(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    Arrays arrays = {.count = 0};
    Py_ssize_t dimensions, sizes[7], tools;
    if (count != 12) return refuse("twelve arguments were expected");
    const float *query = take(&arrays, args[0], 4, 0, &dimensions);
    const int8_t *wholes = take(&arrays, args[1], 1, 0, &sizes[0]);
    const float *whole_steps = take(&arrays, args[2], 4, 0, &sizes[1]);
    const int8_t *passages = take(&arrays, args[3], 1, 0, &sizes[2]);
    const float *passage_steps = take(&arrays, args[4], 4, 0, &sizes[3]);
    const int64_t *starts = take(&arrays, args[5], 8, 0, &sizes[4]);
    const int64_t *ends = take(&arrays, args[6], 8, 0, &sizes[5]);
    const char *alive = take(&arrays, args[7], 1, 0, &sizes[6]);
    float *out = take(&arrays, args[11], 4, 1, &tools);
    Py_ssize_t wanted = PyLong_AsSsize_t(args[8]);
    const float whole = (float)PyFloat_AsDouble(args[9]), gone = (float)PyFloat_AsDouble(args[10]);
    int fits = out && !PyErr_Occurred() && sizes[0] >= tools * dimensions && sizes[1] >= tools &&
               sizes[2] >= sizes[3] * dimensions && sizes[4] >= tools && sizes[5] >= tools && sizes[6] >= tools;
    void *space = fits ? PyMem_Malloc(dimensions * sizeof(int16_t) + (tools + 1) * sizeof *out) : NULL;
    if (space) {
        int16_t *quantized = (int16_t *)((float *)space + tools + 1);
        const float step = quantize(query, dimensions, quantized);
        compare_all(quantized, step, wholes, whole_steps, dimensions, tools, out);
        for (Py_ssize_t tool = 0; tool < tools; tool++)
            if (!alive[tool]) out[tool] = gone;
        const float least = wanted > 0 && wanted < tools ? reached(out, tools, wanted, space) : -INFINITY;
        for (Py_ssize_t tool = 0; tool < tools && fits; tool++) {
            if (out[tool] < least || starts[tool] >= ends[tool]) continue;
            fits = starts[tool] >= 0 && ends[tool] <= sizes[3];
            if (fits) {
                float best =
                    highest(quantized, step, passages, passage_steps, dimensions, starts[tool], ends[tool], out[tool]);
                out[tool] = whole * out[tool] + (1 - whole) * best;
            }
        }
        PyMem_Free(space);
    }
    give_back(&arrays);
    if (fits && !space) return PyErr_NoMemory();
    if (!fits && !PyErr_Occurred()) refuse("the vectors do not fit the tools");
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

/* nearest(scores, depth, gone, order) -> ids, the number of present tools, the sum of their scores and of the squares */
PyObject *nearest(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    Arrays arrays = {.count = 0};
    Py_ssize_t tools, present = 0, found = 0;
    double total = 0, squares = 0;
    if (count != 4) return refuse("four arguments were expected");
    const float *scores = take(&arrays, args[0], 4, 0, &tools);
    Py_ssize_t depth = PyLong_AsSsize_t(args[1]);
    float gone = (float)PyFloat_AsDouble(args[2]);
    const int64_t *order = scores ? take_order(&arrays, args[3], tools) : NULL;
    Scored *best = scores && !PyErr_Occurred() ? PyMem_Malloc((tools + 1) * sizeof *best) : NULL;
    PyObject *numbers = NULL;
    if (best) {
        for (Py_ssize_t tool = 0; tool < tools; tool++) {
            const double score = scores[tool] > gone ? scores[tool] : 0;
            present += scores[tool] > gone;
            total += score;
            squares += score * score;
        }
        depth = depth < present ? depth : present;
        /* The room for pairs is enough for the scores alone. */
        float least = depth > 0 ? reached(scores, tools, depth, (float *)best) : 0;
        for (Py_ssize_t tool = 0; tool < tools && depth > 0; tool++)
            if (scores[tool] >= least) best[found++] = (Scored){scores[tool], order ? order[tool] : tool, tool};
        qsort(best, found, sizeof *best, falling);
        numbers = PyTuple_New(depth > 0 ? depth : 0);
        for (Py_ssize_t place = 0; numbers && place < depth; place++)
            PyTuple_SetItem(numbers, place, PyLong_FromLongLong(best[place].number));
        PyMem_Free(best);
    }
    give_back(&arrays);
    if (!numbers) return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    return Py_BuildValue("(Nndd)", numbers, present, total, squares);
}
