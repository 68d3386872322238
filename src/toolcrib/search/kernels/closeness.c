/* Tools compared with a query word by word: `coverage` in plain.py. */

#include "loops.h"

#include <math.h>
#include <string.h>

/* Fused steps are as exact, and faster; everything else is to come out as in Python. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=fast")
#endif

#define ROWS 4 /* words of a tool that are compared at a time: each step of one has to wait for its last */
#define CACHE_LINE (64 / sizeof(float))
#define NOTHING 1e-6f

static float length_of(const float *vector, Py_ssize_t dimensions) {
    float squares = 0;
    for (Py_ssize_t at = 0; at < dimensions; at++) squares += vector[at] * vector[at];
    return sqrtf(squares) + NOTHING;
}

int ask(Asked *asked, PyObject *vectors) {
    const Py_ssize_t count = PyList_Size(vectors);
    float whole = 0;
    if (count > MOST_WORDS) refuse("a request has too many words");
    if (count < 0 || count > MOST_WORDS) return 0;
    asked->count = (int)count;
    asked->blocks = (int)(count + LANES - 1) / LANES;
    memset(asked->directions, 0, sizeof *asked->directions * asked->blocks);
    for (int word = 0; word < count; word++) {
        Arrays arrays = {.count = 0};
        Py_ssize_t dimensions;
        const float *vector = take(&arrays, PyList_GetItem(vectors, word), 4, 0, &dimensions);
        if (vector && dimensions < DIMENSIONS) vector = refuse("a vector is too short");
        if (vector) {
            const float length = length_of(vector, DIMENSIONS);
            whole += asked->weights[word] = length_of(vector, dimensions);
            for (int at = 0; at < DIMENSIONS; at++)
                asked->directions[word / LANES][at][word % LANES] = vector[at] / length;
        }
        give_back(&arrays);
        if (!vector) return 0;
    }
    for (int word = 0; word < count; word++) asked->weights[word] /= whole;
    return 1;
}

static void fetch(const Told *told, int64_t row, int64_t end) {
    for (; row < end; row++)
        for (size_t at = 0; at < DIMENSIONS; at += CACHE_LINE)
            FETCH(told->directions + (Py_ssize_t)told->words[row] * DIMENSIONS + at);
}

WIDE int compare(const Asked *asked, const Told *told, int64_t row, int64_t end, double *found, double *spoken) {
    union {
        Lanes lanes[MOST_WORDS / LANES];
        float words[MOST_WORDS];
    } near[ROWS];
    float best[MOST_WORDS];
    const float *directions[ROWS];
    *found = *spoken = 0;
    for (int word = 0; word < asked->count; word++) best[word] = -2;
    for (; row < end; row += ROWS) {
        const int rows = end - row < ROWS ? (int)(end - row) : ROWS;
        for (int at = 0; at < ROWS; at++) {
            const int32_t word = told->words[row + (at < rows ? at : 0)];
            if (word < 0 || word >= told->meanings) return 0;
            directions[at] = told->directions + (Py_ssize_t)word * DIMENSIONS;
        }
        fetch(told, row + ROWS, row + 2 * ROWS < told->rows ? row + 2 * ROWS : told->rows);
        for (int block = 0; block < asked->blocks; block++) {
            Lanes sums[ROWS] = {{0}};
            for (int dimension = 0; dimension < DIMENSIONS; dimension++)
                for (int at = 0; at < ROWS; at++)
                    sums[at] += directions[at][dimension] * asked->directions[block][dimension];
            for (int at = 0; at < ROWS; at++) near[at].lanes[block] = sums[at];
        }
        for (int at = 0; at < rows; at++) {
            float closest = -2;
            for (int word = 0; word < asked->count; word++) {
                const float score = near[at].words[word];
                best[word] = score > best[word] ? score : best[word];
                closest = score > closest ? score : closest;
            }
            *spoken += (double)closest * told->shares[row + at];
        }
    }
    for (int word = 0; word < asked->count; word++) *found += (double)best[word] * asked->weights[word];
    return 1;
}
